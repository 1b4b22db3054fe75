import {
  BookText,
  Cloud,
  Database,
  FileText,
  Globe,
  HardDrive,
  type LucideIcon,
  NotebookText,
  Upload,
} from 'lucide-react';
import type { Schema } from '../api/types.ts';

/** Types of data sources that users can create. */
export type SourceType = Schema<'ProbeDataSource'>['type'];

const GUIDE = '/docs/guide/connectors';

/** Icon and guide section of each connector, in the order of the gallery. */
export const CONNECTORS: Readonly<Record<SourceType, { icon: LucideIcon; guide: string }>> = {
  web_crawl: { icon: Globe, guide: `${GUIDE}#web-sites-web_crawl` },
  file_upload: { icon: Upload, guide: `${GUIDE}#uploaded-files-file_upload` },
  confluence: { icon: BookText, guide: `${GUIDE}#confluence-cloud-confluence` },
  notion: { icon: NotebookText, guide: `${GUIDE}#notion-notion` },
  google_drive: { icon: HardDrive, guide: `${GUIDE}#google-drive-google_drive` },
  s3: { icon: Database, guide: `${GUIDE}#amazon-s3-and-compatible-stores-s3` },
  gcs: { icon: Cloud, guide: `${GUIDE}#google-cloud-storage-gcs` },
};

/** Returns the icon of a data source. Data sources of posted documents have no connector. */
export const sourceIcon = (type: Schema<'ListedDataSource'>['type']): LucideIcon =>
  type === 'api' ? FileText : CONNECTORS[type].icon;

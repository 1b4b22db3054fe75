/** A file to upload. `path` has its folders, such as `guides/pump.md`, when a folder was dropped or chosen. */
export interface ChosenFile {
  file: File;
  path: string;
}

/** Maximum files of a folder; `quire ingest` takes larger ones. */
export const MAX_FOLDER_FILES = 1_000;

/** Hidden files and folders: `.git`, `._notes.pdf` (macOS), `~$letter.docx` (lock file of an open Word document). */
const HIDDEN = /(^|\/)(\.|~\$)/;

/** Returns the files of a file input. Hidden files of a folder are skipped. */
export function listChosenFiles(files: Iterable<File>): ChosenFile[] {
  return [...files]
    .map((file) => ({ file, path: file.webkitRelativePath || file.name }))
    .filter(({ file, path }) => path === file.name || !HIDDEN.test(path));
}

/**
 * Reads the dropped files and folders. Skips hidden files in folders, and stops reading a folder after
 * `MAX_FOLDER_FILES` + 1 files. Must be called in the event handler. Throws a `DOMException` when an entry cannot be
 * read.
 */
export async function readDroppedFiles(transfer: DataTransfer): Promise<ChosenFile[]> {
  // The browser clears the items when the handler returns. An item without a file, such as text, has no entry.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const files: ChosenFile[] = [];
  for (const entry of entries) await collectFiles(entry, '', files);
  return files;
}

async function collectFiles(entry: FileSystemEntry, prefix: string, found: ChosenFile[]): Promise<void> {
  const path = prefix + entry.name;
  if (isFile(entry)) {
    found.push({ file: await new Promise<File>((resolve, reject) => entry.file(resolve, reject)), path });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  // Chromium returns at most 100 entries per call.
  const read = () => new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
  for (let entries = await read(); entries.length > 0; entries = await read()) {
    for (const child of entries) {
      if (found.length > MAX_FOLDER_FILES) return;
      if (!HIDDEN.test(child.name)) await collectFiles(child, `${path}/`, found);
    }
  }
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;

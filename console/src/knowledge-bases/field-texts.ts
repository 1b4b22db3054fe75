import type { Language } from '../ui/language.tsx';

/** Labels and descriptions of the fields of data sources, by the English text, which comes from the API description. */
export const FIELD_TEXTS: Readonly<Record<Exclude<Language, 'en'>, Readonly<Record<string, string>>>> = {
  de: {
    'Access key ID': 'ID des Zugriffsschlüssels',
    'API token': 'API-Token',
    Bucket: 'Bucket',
    Credentials: 'Zugangsdaten',
    'Database IDs': 'IDs der Datenbanken',
    Email: 'E-Mail',
    Endpoint: 'Endpunkt',
    'Exclude patterns': 'Ausgeschlossene Muster',
    'Expires after': 'Läuft ab nach',
    'File IDs': 'IDs der Dateien',
    'Folder IDs': 'IDs der Ordner',
    'Include patterns': 'Eingeschlossene Muster',
    'Include shared drives': 'Auch geteilte Ablagen',
    'Integration token': 'Token der Integration',
    'Max depth': 'Höchste Tiefe',
    'Max pages': 'Höchstzahl der Seiten',
    Metadata: 'Metadaten',
    'Page IDs': 'IDs der Seiten',
    Prefix: 'Präfix',
    Region: 'Region',
    'Requests per second': 'Anfragen pro Sekunde',
    Schedule: 'Zeitplan',
    'Secret access key': 'Geheimer Zugriffsschlüssel',
    'Service account JSON': 'Schlüsseldatei des Dienstkontos (JSON)',
    'Space keys': 'Schlüssel der Bereiche',
    'Text fields': 'Textfelder',
    URL: 'URL',
    URLs: 'URLs',
    'Files uploaded with the purpose `knowledge-base`. Duplicates are ignored.':
      'Dateien, die mit dem Zweck `knowledge-base` hochgeladen wurden. Doppelte zählen nur einmal.',
    'Metadata for every document of this source, at most 64 KiB. Overrides the metadata of the documents themselves.':
      'Metadaten für jedes Dokument dieser Quelle, höchstens 64 KiB. Sie ersetzen die eigenen Metadaten der Dokumente.',
    'Fields of JSON and JSONL files that hold the text, joined in this order. Default: `text`, `content`, `body` or `page_content`, whichever comes first, or else `question` and `answer`.':
      'Felder von JSON- und JSONL-Dateien, die den Text enthalten, in dieser Reihenfolge verbunden. Sonst das erste von `text`, `content`, `body` und `page_content`, oder `question` und `answer`.',
    'Seconds after which a document expires, from its `updated_at`. A sync does not ingest an expired item again until its content changes or `expires_after` is removed. Default: never.':
      'Sekunden, nach denen ein Dokument abläuft, gerechnet ab `updated_at`. Ein Abgleich liest Abgelaufenes erst wieder ein, wenn sich der Inhalt ändert oder dieses Feld leer ist. Sonst nie.',
    'Start URLs of the crawl. Links to other hosts are not followed.':
      'Adressen, bei denen das Einlesen beginnt. Links zu anderen Hosts wird nicht gefolgt.',
    'Maximum link distance from a start URL; 0: only the start URLs.':
      'Größte Zahl von Links ab einer Startadresse; 0: nur die Startadressen.',
    'Maximum number of stored pages.': 'Größte Zahl gespeicherter Seiten.',
    'Only pages that match one of these patterns. Start URLs are read for their links anyway. Globs of whole URLs: `*` within a path segment, `**` across segments, `?`, `[a-z]`, `{a,b}`.':
      'Nur Seiten, auf die eines dieser Muster passt. Startadressen werden wegen ihrer Links immer gelesen. Globs ganzer URLs: `*` in einem Pfadabschnitt, `**` über Abschnitte hinweg, `?`, `[a-z]`, `{a,b}`.',
    'Excludes pages that match one of these patterns. Globs of whole URLs: `*` within a path segment, `**` across segments, `?`, `[a-z]`, `{a,b}`.':
      'Schließt Seiten aus, auf die eines dieser Muster passt. Globs ganzer URLs: `*` in einem Pfadabschnitt, `**` über Abschnitte hinweg, `?`, `[a-z]`, `{a,b}`.',
    'Maximum requests per second and host; default 10. The crawl delay of robots.txt can lower it.':
      'Höchstzahl der Anfragen pro Sekunde und Host; sonst 10. Die Wartezeit in robots.txt kann sie senken.',
    'Syncs by themselves: an interval such as `30m`, `6h` or `1d`, or a cron expression of five fields in UTC such as `0 3 * * *`. At least five minutes apart. Default: only on request.':
      'Regelmäßiger Abgleich: ein Abstand wie `30m`, `6h` oder `1d`, oder ein Cron-Ausdruck mit fünf Feldern in UTC wie `0 3 * * *`. Mindestens fünf Minuten Abstand. Sonst nur auf Anforderung.',
    'Only objects whose key starts with this prefix.': 'Nur Objekte, deren Schlüssel so beginnt.',
    'Only objects whose name starts with this prefix.': 'Nur Objekte, deren Name so beginnt.',
    'Server of the API, `http` or `https`. Default: that of AWS in the region.':
      'Server der API, `http` oder `https`. Sonst der von AWS in der Region.',
    'Server of the API, `http` or `https`. Default: https://storage.googleapis.com.':
      'Server der API, `http` oder `https`. Sonst https://storage.googleapis.com.',
    'Encrypted at rest, shown as `***`.': 'Wird verschlüsselt gespeichert und als `***` angezeigt.',
    'Shown as `***`.': 'Wird als `***` angezeigt.',
    'The key file of the account, as a string or an object. Encrypted at rest, shown as `***`.':
      'Der Inhalt der Schlüsseldatei des Kontos. Wird verschlüsselt gespeichert und als `***` angezeigt.',
    '`http` or `https`, without user and password.': '`http` oder `https`, ohne Benutzer und Kennwort.',
    'Default: all spaces that the account can read.': 'Sonst alle Bereiche, die das Konto lesen kann.',
    'Pages with their subpages. Without `page_ids` and `database_ids`: everything that the integration can read.':
      'Seiten mit ihren Unterseiten. Ohne Seiten und Datenbanken: alles, was die Integration lesen kann.',
    'Databases with their pages.': 'Datenbanken mit ihren Seiten.',
    'Folders with their subfolders. Default: all files that the account can read.':
      'Ordner mit ihren Unterordnern. Sonst alle Dateien, die das Konto lesen kann.',
  },
};

/** A text of a field in a language; in English where there is no translation. */
export const translateField = (text: string, language: Language): string =>
  language === 'en' ? text : (FIELD_TEXTS[language][text] ?? text);

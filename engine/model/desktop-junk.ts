// Files that desktops and office programs add beside the user's own, unasked and mostly unseen. They are never data: every
// upload leaves them out and names them once.

/** Matched by the whole name, in lower case. */
const FILES: ReadonlySet<string> = new Set([
  ...['.ds_store', '.localized', '.apdisk', 'icon\r'],
  ...['thumbs.db', 'thumbs.db:encryptable', 'ehthumbs.db', 'ehthumbs_vista.db', 'desktop.ini'],
  '.directory',
]);
const FOLDERS: ReadonlySet<string> = new Set([
  ...['__macosx', '.spotlight-v100', '.trashes', '.fseventsd', '.temporaryitems', '.documentrevisions-v100'],
  ...['$recycle.bin', 'system volume information'],
]);
/** Prefixes: AppleDouble; lock files of Microsoft Office and of LibreOffice. */
const STARTS = ['._', '~$', '.~lock.'];

/** @param path relative, `/` between folders */
export function isDesktopJunk(path: string): boolean {
  const segments = path.split('/').filter((segment) => segment !== '');
  const last = segments.at(-1);
  if (last === undefined) return false;
  if (segments.some((segment) => FOLDERS.has(segment.toLowerCase()))) return true;
  return FILES.has(last.toLowerCase()) || STARTS.some((start) => last.startsWith(start));
}

/**
 * A sentence for the owner; undefined when nothing was left out.
 * @param more how many files are not in `paths`
 */
export function leftOutNote(paths: readonly string[], more = 0): string | undefined {
  if (paths.length === 0) return undefined;
  const named = paths.map((path) => `'${path.replace('\r', '\\r')}'`).join(', ');
  return `left out, as files that desktops and office programs add: ${named}${more > 0 ? ` and ${more} more` : ''}`;
}

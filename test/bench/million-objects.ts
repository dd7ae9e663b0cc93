// The objects that the listing measures are about: of each dataset its metadata and, where a measure wants more, files of
// its upload; a hundred datasets of each owner, one owner after the other. Owners, ids and files have names of fixed length, so
// that the order of keys is that of numbers.

/** Whole seconds, as heads of objects tell it. */
export const FIRST_MODIFIED_MS = Date.UTC(2026, 0, 2, 3, 4, 5);
/** Objects that do not share their second. */
const SECONDS = 1_000_003;
/** Datasets of one owner. */
const OWNED = 100;
const FIRST_OWNER = 1_000_000;

export const ownerNumberOf = (n: number): number => FIRST_OWNER + Math.floor(n / OWNED);
export const ownerOf = (n: number): string => String(ownerNumberOf(n));
export const datasetOf = (n: number): string => `bench${String(n).padStart(11, '0')}`;
/** Of the n-th object, where each dataset has `each` of them: the last is its metadata. */
export function keyOf(n: number, each = 1): string {
  const [dataset, place] = [Math.floor(n / each), n % each];
  const name = place === each - 1 ? 'vdi-meta.json' : `raw/${String(place).padStart(8, '0')}`;
  return `${ownerOf(dataset)}/${datasetOf(dataset)}/${name}`;
}
/** What a dataset has when it has been imported, in the order of keys. */
export const IMPORTED = ['import-ready.zip', 'install-ready.zip', 'vdi-manifest.json', 'vdi-meta.json'] as const;
/** Of the dataset `n`: metadata that a reader takes. */
export const metadataOf = (n: number): string =>
  JSON.stringify({
    ...{ type: { name: 'genelist', version: '1.0' }, installTargets: ['AlphaDB'], visibility: 'private' },
    ...{ owner: ownerNumberOf(n), name: 'Genes of interest', summary: 'Genes', origin: 'direct-upload' },
    ...{ created: new Date(modifiedOf(n)).toISOString(), dependencies: [], daysForApproval: -1 },
  });

/** As long as the MD5 of a store's etags. */
export const etagOf = (n: number): string => `d41d8cd98f00b204e98009${String(n).padStart(10, '0')}`;
export const modifiedOf = (n: number): number => FIRST_MODIFIED_MS + ((n * 7_919) % SECONDS) * 1_000;
export const sizeOf = (n: number): number => 1_000 + (n % 9_000);

/** The same in SQL, of a column `n`. */
export const DATASET_SQL = `'bench' || lpad(n::text, 11, '0')`;
export const OWNER_SQL = `${FIRST_OWNER} + n / ${OWNED}`;
export const MODIFIED_SQL = `${FIRST_MODIFIED_MS}::bigint + ((n::bigint * 7919) % ${SECONDS}) * 1000`;
export const ETAG_SQL = `'d41d8cd98f00b204e98009' || lpad(n::text, 10, '0')`;

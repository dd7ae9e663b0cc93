// Groups of operations in the documents of all services. An operation belongs to the first group whose pattern matches its path.

interface Tag {
  readonly name: string;
  readonly description: string;
}

const TAGS: readonly (Tag & { readonly paths: RegExp })[] = [
  { name: 'Files', description: 'Files of a dataset, one by one or as an archive', paths: /^\/datasets\/[^/]+\/files/ },
  {
    name: 'Sharing',
    description: 'Offers of a dataset to another user, and the answer',
    paths: /\/(shares|share-offers)/,
  },
  {
    name: 'Events',
    description: 'What happened to datasets, in pages or as a stream that goes on',
    paths: /^\/(datasets\/[^/]+\/)?events\b/,
  },
  { name: 'Datasets', description: 'Upload, listing, metadata, revisions and deletion', paths: /^\/datasets\b/ },
  {
    name: 'Resumable uploads',
    description: 'Files that are sent in pieces, by the tus protocol, before a dataset is made of them',
    paths: /^\/uploads\b/,
  },
  { name: 'Webhooks', description: 'Events of datasets, posted to a URL of the caller', paths: /^\/webhooks\b/ },
  { name: 'Account', description: 'The caller', paths: /^\/users\// },
  { name: 'Report jobs', description: 'Formatting of query results', paths: /^\/(jobs|statuses|link-guest)\b/ },
  {
    name: 'Access requests',
    description: 'Requests for access to datasets, decisions and their history',
    paths: /^\/(dataset-end-users|approve-eligible-access-requests|history)\b/,
  },
  { name: 'Managers', description: 'Staff, and who manages which dataset', paths: /^\/(staff|dataset-providers)\b/ },
  { name: 'Permissions', description: 'What the caller may do with which dataset', paths: /^\/permissions\b/ },
  { name: 'Handler jobs', description: 'Packages that a handler processes', paths: /^\/job\b/ },
  { name: 'Plugin calls', description: 'What the service asks of a plugin', paths: /^\/(import|install|uninstall)/ },
  { name: 'Administration', description: 'For operators and administrators', paths: /^\/(admin|maintenance)\// },
  {
    name: 'Service',
    description: 'What the service is, how it is, and what it offers',
    paths: /^\/(console|api|health|ready|metrics|plugins|service-meta|service-info|config)\b|^\/$/,
  },
];
/** A test fails if a route has this group. */
const OTHER: Tag = { name: 'Other', description: 'Everything else' };

export const tagOf = (path: string): string => (TAGS.find(({ paths }) => paths.test(path)) ?? OTHER).name;

/** The groups of these paths: what people come for first, then in the order of the table. */
export const tagsOf = (paths: readonly string[]): readonly Tag[] => {
  const used = new Set(paths.map(tagOf));
  const shown = [...TAGS, OTHER].filter(({ name }) => used.has(name));
  return [...shown.filter(isDatasets), ...shown.filter((tag) => !isDatasets(tag))].map(({ name, description }) => ({
    name,
    description,
  }));
};

const isDatasets = ({ name }: Tag): boolean => name === 'Datasets';

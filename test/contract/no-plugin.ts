import type { SamplePlugin } from '../../bin/compose/embedded-config.ts';

/** An installer has at least one; this one is never called. */
export const NO_PLUGIN: SamplePlugin = {
  name: 'none',
  category: 'None',
  allowedFileExtensions: [],
  usesDataProperties: false,
  scripts: Object.fromEntries(
    ['dataCleaning', 'checkCompatibility', 'dataInstall', 'metaUpdate', 'uninstall'].map((key) => [key, '/bin/true']),
  ),
};

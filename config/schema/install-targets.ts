// `installer.installTargets`: the project sites. `projectCategory` is ours.

import type { TargetId } from '../../engine/model/ids.ts';
import { targetDb } from './database.ts';
import {
  anyMap,
  choice,
  derived,
  flag,
  formed,
  type Loaded,
  list,
  optional,
  section,
  targetTypes,
  text,
  version,
} from './field.ts';

/** The id becomes part of paths, so it has no character with a meaning there. */
export const targetIdField = (description: string) =>
  text<TargetId>(description, {
    minLength: 5,
    maxLength: 32,
    pattern: '^[A-Za-z0-9][A-Za-z0-9_-]*$',
    'x-allowed': 'an install target id: 5..32 letters, digits, - and _',
  });

/** Segments without `.` and `..`, so that a dataset's directory stays below the install root. */
const SEGMENT = '(?!\\.{1,2}(?:/|$))[^/\\u0000]+';
export const DIRECTORY_PATTERN = `^${SEGMENT}$`;
const RELATIVE_PATTERN = `^${SEGMENT}(?:/${SEGMENT})*$`;

const dataTypeRef = section(
  'A data type of some plugin.',
  { name: formed<string>('type-name', 'Name; case does not matter.'), version: version('Version; compared as text.') },
  { also: { 'x-allowed': '{name, version}; or the list is exactly ["*"]' } },
);

const installTarget = section(
  'A project site.',
  {
    enabled: flag('Whether datasets are installed into it.', true),
    targetId: optional(targetIdField('Identifier; required when enabled.')),
    targetName: optional(derived(text('Display name.', { minLength: 3, maxLength: 128 }), 'the targetId')),
    datasetFileRoot: optional(
      text('Directory below the install root that replaces `{siteBuild}/{targetId}`.', {
        minLength: 3,
        pattern: RELATIVE_PATTERN,
        'x-allowed': "a relative path of at least 3 characters without '.' and '..'",
      }),
    ),
    dataTypes: targetTypes('Data types that may be installed.', dataTypeRef),
    controlDb: optional(targetDb('Tells the site which datasets are installed for whom.')),
    dataDb: optional(
      targetDb(
        'Where plugins write the data of datasets. Targets with the same schema of the same database share rows: the rows ' +
          'of a dataset are written once and removed with its last target. Files, control rows and status are separate ' +
          'for each target. `config check` lists the targets that share. Databases count as the same only if they are ' +
          'configured identically.',
      ),
    ),
    metaValidation: optional(anyMap('Additional JSON Schema (2020-12) for the metadata of datasets for this target.')),
    projectCategory: choice(
      'Determines which metadata fields are required.',
      ['genomics', 'vector', 'microbiome', 'clinical-epidemiology', 'other'],
      { default: 'other' },
    ),
  },
  {
    also: {
      if: { properties: { enabled: { const: true } } },
      // biome-ignore lint/suspicious/noThenProperty: the JSON Schema keyword
      then: { required: ['targetId', 'controlDb', 'dataDb'] },
    },
  },
);
export type InstallTargetFile = Loaded<typeof installTarget>;

export const installTargets = list('Project sites that datasets are installed into.', installTarget, {
  minItems: 1,
  uniqueItems: true,
});

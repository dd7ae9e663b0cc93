// Rules of `installer.installTargets` that span keys.

import { Ajv2020 } from 'ajv/dist/2020.js';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import { messageOf } from '../../engine/runtime/failure.ts';
import type { Cursor } from '../cursor.ts';
import { POSTGRES_NAMES, SCHEMA_ALLOWED, SCHEMA_PATTERN } from '../schema/database.ts';
import type { Finding, Written } from '../validate.ts';
import { dataTypesOf, typeKeyOf } from './plugin-rules.ts';
import { repeatFinding, repeats } from './repeats.ts';

export function targetRules(installer: Cursor, written: Written): readonly Finding[] {
  const targets = installer.at('installTargets').items();
  return [
    ...names(targets),
    ...directories(installer, targets),
    ...unknownTypes(targets, dataTypesOf(installer), written),
    ...targets.flatMap((target) => [
      ...databaseRules(target.at('controlDb'), installer.at('ldap')),
      ...databaseRules(target.at('dataDb'), installer.at('ldap')),
      ...metaValidationRules(target.at('metaValidation')),
    ]),
  ];
}

function names(targets: readonly Cursor[]): readonly Finding[] {
  const ids = repeats(
    targets.map((target) => target.at('targetId')),
    (id) => id.text,
  );
  const displayed = targets.map((target) =>
    target.at('targetName').present ? target.at('targetName') : target.at('targetId'),
  );
  return [
    ...ids.map((repeat) => repeatFinding(repeat, JSON.stringify(repeat.key), 'an id of its own per target')),
    ...repeats(displayed, (name) => name.text)
      // Two equal ids without names are reported once.
      .filter(({ cursor, earlier }) => cursor.path.at(-1) === 'targetName' || earlier.path.at(-1) === 'targetName')
      .map((repeat) => repeatFinding(repeat, JSON.stringify(repeat.key), 'a name of its own per target')),
  ];
}

/** Two enabled targets must not install into one directory. */
function directories(installer: Cursor, targets: readonly Cursor[]): readonly Finding[] {
  const places = targets
    .filter((target) => target.at('enabled').value !== false)
    .map((target) => (target.at('datasetFileRoot').present ? target.at('datasetFileRoot') : target.at('targetId')));
  const directoryOf = (place: Cursor): string | undefined =>
    place.path.at(-1) === 'targetId' && place.text !== undefined
      ? `${installer.at('siteBuild').text}/${place.text}`
      : place.text;
  return (
    repeats(places, directoryOf)
      // Equal ids are reported as such.
      .filter(({ cursor, earlier }) => cursor.path.at(-1) !== 'targetId' || earlier.path.at(-1) !== 'targetId')
      .map((repeat) =>
        repeatFinding(
          repeat,
          `the directory ${JSON.stringify(repeat.key)}`,
          'a directory of its own per enabled target',
        ),
      )
  );
}

function unknownTypes(targets: readonly Cursor[], types: readonly Cursor[], written: Written): readonly Finding[] {
  const known = types.flatMap((type) => typeKeyOf(type, written) ?? []);
  if (known.length === 0) return [];
  return targets
    .flatMap((target) => target.at('dataTypes').items())
    .flatMap((type) => {
      const key = typeKeyOf(type, written);
      if (key === undefined || known.includes(key)) return [];
      return [
        { path: type.path, found: `the type ${key}, which no plugin has`, allowed: `one of ${known.join(', ')}` },
      ];
    });
}

function databaseRules(db: Cursor, ldap: Cursor): readonly Finding[] {
  const findings: Finding[] = [];
  const username = db.at('username');
  if (!db.at('schema').present && username.text !== undefined && !new RegExp(SCHEMA_PATTERN).test(username.text))
    findings.push({
      path: [...db.path, 'schema'],
      found: 'nothing, and the username, which is the default, is no schema name',
      allowed: SCHEMA_ALLOWED,
    });
  const platform = db.at('platform');
  if (platform.text?.toLowerCase() === 'oracle')
    findings.push({
      path: platform.path,
      found: `${JSON.stringify(platform.text)}, which is not supported for now`,
      allowed: POSTGRES_NAMES[0],
    });
  const lookup = db.at('lookupCn');
  if (lookup.present && !ldap.present)
    findings.push({
      path: lookup.path,
      found: 'a directory lookup without `installer.ldap`',
      allowed: 'a lookup with `installer.ldap`, or `server`, `name` and `platform`',
    });
  return findings;
}

function metaValidationRules(schema: Cursor): readonly Finding[] {
  if (typeof schema.value !== 'object' || schema.value === null) return [];
  try {
    // Words that we do not know are the operator's own: not strict.
    new Ajv2020({ strict: false, formats: fullFormats }).compile(schema.value);
    return [];
  } catch (error) {
    return [
      { path: schema.path, found: `no valid JSON Schema: ${messageOf(error)}`, allowed: 'a JSON Schema of 2020-12' },
    ];
  }
}

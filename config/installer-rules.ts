// Rules of `installer` that span keys: values that must not occur twice, plugins, install targets, lanes. Each rule checks what
// is there and leaves the rest to the schema.

import { Ajv2020 } from 'ajv/dist/2020.js';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import { ARCHIVE_EXTENSIONS } from '../engine/model/data-types.ts';
import { messageOf } from '../engine/runtime/failure.ts';
import { versionText } from './derive.ts';
import { type Cursor, displayPath } from './path.ts';
import { PLATFORMS, platformOf, SCHEMA_ALLOWED, SCHEMA_PATTERN } from './schema/database.ts';
import type { Finding, Written } from './validate.ts';

/** A value that must not occur twice. */
interface Repeat {
  readonly cursor: Cursor;
  /** The first place with the same key. */
  readonly earlier: Cursor;
  readonly key: string;
}

/** The cursors whose key an earlier cursor has. Cursors without a key are skipped. */
function repeats(cursors: readonly Cursor[], keyOf: (cursor: Cursor) => string | undefined): readonly Repeat[] {
  const first = new Map<string, Cursor>();
  return cursors.flatMap((cursor) => {
    const key = keyOf(cursor);
    const earlier = key === undefined ? undefined : first.get(key);
    if (key !== undefined && !earlier) first.set(key, cursor);
    return key !== undefined && earlier ? [{ cursor, earlier, key }] : [];
  });
}

/** @param what describes the value at the cursor */
const repeatFinding = ({ cursor, earlier }: Repeat, what: string, allowed: string): Finding => ({
  path: cursor.path,
  found: `${what}, as at ${displayPath(earlier.path)}`,
  allowed,
});

function pluginRules(installer: Cursor, written: Written): readonly Finding[] {
  const types = dataTypesOf(installer);
  return [
    ...repeats(types, (type) => typeKeyOf(type, written)).map((repeat) =>
      repeatFinding(repeat, `the type ${repeat.key}`, 'one plugin per type'),
    ),
    ...types.flatMap((type) => type.at('allowedFileExtensions').items()).flatMap(archiveExtension),
    ...unknownTargets(types, installer.at('installTargets').items()),
    ...installRoots(installer),
  ];
}

const dataTypesOf = (installer: Cursor): readonly Cursor[] =>
  installer
    .at('plugins')
    .entries()
    .flatMap(([, plugin]) => plugin.at('dataTypes').items());

/** `name:version` with the name in lower case; undefined if either is malformed. */
function typeKeyOf(type: Cursor, written: Written): string | undefined {
  const name = type.at('name').text?.toLowerCase();
  const version = versionText(type.at('version'), written);
  return name === undefined || version === undefined ? undefined : `${name}:${version}`;
}

function archiveExtension(extension: Cursor): readonly Finding[] {
  if (!(ARCHIVE_EXTENSIONS as readonly unknown[]).includes(extension.text?.toLowerCase())) return [];
  return [
    {
      path: extension.path,
      found: `${JSON.stringify(extension.text)}, an archive`,
      allowed: `extensions of single files; ${ARCHIVE_EXTENSIONS.join(', ')} are always accepted`,
    },
  ];
}

function unknownTargets(types: readonly Cursor[], targets: readonly Cursor[]): readonly Finding[] {
  const known = targets.flatMap((target) => target.at('targetId').text ?? []);
  if (known.length === 0) return [];
  return types
    .flatMap((type) => type.at('projectIds').items())
    .filter((id) => id.text !== undefined && !known.includes(id.text))
    .map((id) => ({
      path: id.path,
      found: `${JSON.stringify(id.text)}, which is no install target`,
      allowed: `one of ${known.join(', ')}`,
    }));
}

/** Scripts get `{installRoot}/{siteBuild}/..`, so the root must not end with the build directory itself. */
function installRoots(installer: Cursor): readonly Finding[] {
  const build = installer.at('siteBuild').text;
  return installer
    .at('plugins')
    .entries()
    .map(([, plugin]) => plugin.at('installRoot'))
    .filter((root) => build !== undefined && root.text?.replace(/\/+$/, '').split('/').at(-1) === build)
    .map((root) => ({
      path: root.path,
      found: `${JSON.stringify(root.text)}, which ends with the site build`,
      allowed: 'the directory above the site build',
    }));
}

function targetRules(installer: Cursor, written: Written): readonly Finding[] {
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
      // Equal ids are reported by another rule.
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
  const platform = db.at('platform');
  const supported = platformOf(platform.value);
  const key = supported === 'MariaDB' ? 'name' : 'username';
  const schema = db.at(key).text;
  if (!db.at('schema').present && schema !== undefined && !new RegExp(SCHEMA_PATTERN).test(schema))
    findings.push({
      path: [...db.path, 'schema'],
      found: `nothing, and the ${key}, which is the default, is not a valid schema name`,
      allowed: SCHEMA_ALLOWED,
    });
  if (platform.text?.toLowerCase() === 'oracle')
    findings.push({
      path: platform.path,
      found: `${JSON.stringify(platform.text)}, which is not supported for now`,
      allowed: PLATFORMS,
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
    // Not strict: the operator may use keywords that we do not know.
    new Ajv2020({ strict: false, formats: fullFormats }).compile(schema.value);
    return [];
  } catch (error) {
    return [
      { path: schema.path, found: `no valid JSON Schema: ${messageOf(error)}`, allowed: 'a JSON Schema of 2020-12' },
    ];
  }
}

export function installerRules(root: Cursor, written: Written): readonly Finding[] {
  const installer = root.at('installer');
  return [
    ...pluginRules(installer, written),
    ...targetRules(installer, written),
    ...laneRules(installer.at('lanes')),
    ...driverRules(installer),
  ];
}

/** Each message must belong to exactly one lane. */
function laneRules(lanes: Cursor): readonly Finding[] {
  const key = (lane: Cursor): string | undefined => {
    const [channel, eventKey] = [lane.at('eventChannel').text, lane.at('eventKey').text];
    return channel === undefined || eventKey === undefined ? undefined : `channel ${channel} with key ${eventKey}`;
  };
  return repeats(
    lanes.entries().map(([, lane]) => lane),
    key,
  ).map((repeat) => repeatFinding(repeat, repeat.key, 'a channel or a key of its own per lane'));
}

/** The directory store writes its changes into the cache DB; an S3 store sends them to a broker. */
function driverRules(installer: Cursor): readonly Finding[] {
  const store = installer.at('objectStore', 'driver').text;
  const queue = installer.at('queueBroker', 'driver');
  const wanted = store === 'directory' ? 'postgres' : store === 's3' ? 'rabbitmq' : undefined;
  if (wanted === undefined || !['postgres', 'rabbitmq'].includes(queue.text ?? '') || queue.text === wanted) return [];
  return [
    {
      path: queue.path,
      found: `${queue.text} beside the object store driver ${store}, which would never report a change there`,
      allowed: `${wanted} with that object store`,
    },
  ];
}

// Rules of `installer.plugins` that span keys.

import { ARCHIVE_EXTENSIONS } from '../../engine/model/data-types.ts';
import type { Cursor } from '../cursor.ts';
import type { Finding, Written } from '../validate.ts';
import { versionText } from '../version.ts';
import { repeatFinding, repeats } from './repeats.ts';

export function pluginRules(installer: Cursor, written: Written): readonly Finding[] {
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

export const dataTypesOf = (installer: Cursor): readonly Cursor[] =>
  installer
    .at('plugins')
    .entries()
    .flatMap(([, plugin]) => plugin.at('dataTypes').items());

/** `name:version` with the name in lower case; undefined while either is malformed. */
export function typeKeyOf(type: Cursor, written: Written): string | undefined {
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

// The files that a data type accepts: extensions and sizes of data files, and property files.

import { ARCHIVE_EXTENSIONS, type DataType, typeKey } from '../../../engine/model/data-types.ts';
import { reservedNameFault } from '../../../engine/model/file-name.ts';
import type { FileEntry } from '../../../engine/model/metadata.ts';
import type { Visibility } from '../../../engine/model/status.ts';
import { quote } from '../../kernel/input/describe.ts';
import type { FaultSink } from '../../kernel/input/faults.ts';

interface UploadedFiles {
  readonly data: readonly FileEntry[];
  readonly properties: readonly FileEntry[];
}

export function checkFiles(
  type: DataType,
  visibility: Visibility,
  files: UploadedFiles,
  faults: Pick<FaultSink, 'add'>,
): void {
  for (const file of files.data) checkDataFile(type, file, files.data.length === 1, faults);
  const several = files.properties.length > 0;
  if (several && !type.usesDataProperties)
    faults.add(['dataPropertiesFile'], `is given, but ${typeKey(type)} does not use data property files`);
  if (!several && type.usesDataProperties && visibility !== 'private')
    faults.add(['dataPropertiesFile'], `is missing; a ${visibility} dataset of ${typeKey(type)} needs one`);
}

/** The files in an archive are checked when it is unpacked; it is unpacked only if it is the only file. */
function checkDataFile(type: DataType, file: FileEntry, alone: boolean, faults: Pick<FaultSink, 'add'>): void {
  if (file.size === 0) faults.add(['dataFile'], `${quote(file.name)} is empty; it must have at least one byte`);
  const fault = dataNameFault(type, file.name, alone);
  if (fault) faults.add(['dataFile'], fault);
  else if (file.size > type.maxFileSize && !(alone && hasExtension(file.name, ARCHIVE_EXTENSIONS)))
    faults.add(
      ['dataFile'],
      `${quote(file.name)} has ${file.size} bytes; a file of ${typeKey(type)} may have ${type.maxFileSize}`,
    );
}

/** What is wrong with the name of a data file that is sent, or undefined. */
export function dataNameFault(type: DataType, name: string, alone: boolean): string | undefined {
  const reserved = reservedNameFault(name);
  return reserved ? `${quote(name)} ${reserved}` : extensionFault(type, name, alone);
}

/** What is wrong with the extension of a data file, or undefined. */
export function extensionFault(type: DataType, name: string, alone: boolean): string | undefined {
  const own = type.allowedFileExtensions;
  const allowed = alone ? [...own, ...ARCHIVE_EXTENSIONS] : own;
  if (own.length === 0 || hasExtension(name, allowed)) return undefined;
  const archive = hasExtension(name, ARCHIVE_EXTENSIONS) ? '; an archive must be the only data file' : '';
  return `${quote(name)} has the wrong extension; ${typeKey(type)} allows ${allowed.join(', ')}${archive}`;
}

function hasExtension(name: string, extensions: readonly string[]): boolean {
  const lower = name.toLowerCase();
  return extensions.some((extension) => lower.endsWith(extension.toLowerCase()));
}

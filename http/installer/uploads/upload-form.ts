// The multipart body of an upload, with parts in any order (docs/contract/installer.md#multipart-parts). Files go straight into
// the upload session. `details` is checked as soon as it is read, so that a body which begins with bad metadata is refused
// before its files are read.

import type { DataType } from '../../../engine/model/data-types.ts';
import { checkFileName, fileNameKey, isDesktopJunk } from '../../../engine/model/file-name.ts';
import { isObject } from '../../../engine/model/json.ts';
import type { FileEntry } from '../../../engine/model/metadata.ts';
import type { FileFolder } from '../../../engine/model/object-key.ts';
import { decodeDocument } from '../../../engine/model/utf8.ts';
import { parseJsonText, readBytes } from '../../kernel/bodies/body.ts';
import type { MultipartPart } from '../../kernel/bodies/multipart.ts';
import { describeValue, quote } from '../../kernel/input/describe.ts';
import type { Faults } from '../../kernel/input/faults.ts';
import { badRequest, type HttpError } from '../../kernel/pipeline/errors.ts';
import { dataNameFault } from '../metadata/details-rules.ts';
import type { UploadSession } from './upload-session.ts';

/** The part `details`, once it is sound. */
export interface JudgedDetails<Details> {
  readonly details: Details;
  readonly type: DataType;
  /** Empty; for faults found later, in the caller's spelling. */
  readonly faults: Faults;
}

export interface UploadForm<Details> extends JudgedDetails<Details> {
  readonly url: string | undefined;
  /** Ids of resumable uploads, as they were given; empty unless they take the place of files. */
  readonly uploadIds: readonly string[];
  readonly data: readonly FileEntry[];
  readonly documents: readonly FileEntry[];
  readonly properties: readonly FileEntry[];
  /** Names of files that desktops add, such as `.DS_Store`; they are not stored. */
  readonly leftOut: readonly string[];
}

/** Throws the refusal of faulty details. */
export type JudgeDetails<Details> = (body: unknown) => JudgedDetails<Details>;

/** Names of file parts, and the folders of their files. */
const FOLDERS: ReadonlyMap<string, FileFolder> = new Map([
  ['dataFile', 'raw'],
  ['file', 'raw'],
  ['docFile', 'documents'],
  ['dataPropertiesFile', 'datasetProperties'],
]);
const PARTS = ['details', 'meta', 'url', 'uploadIds', ...FOLDERS.keys()];
export const MAX_DETAILS_BYTES = 1024 * 1024;
/** A JSON body holds details as long as a part. */
export const MAX_JSON_BYTES = (1024 + 128) * 1024;
const MAX_URL_BYTES = 8 * 1024;
const MAX_ID_BYTES = 256;
const MAX_IDS = 1_000;

export const isDetails = ({ name }: Pick<MultipartPart, 'name'>): boolean => name === 'details' || name === 'meta';

export class UploadFormReader<Details> {
  readonly #session: Pick<UploadSession, 'store'>;
  readonly #judge: JudgeDetails<Details>;
  readonly #files: Record<FileFolder, FileEntry[]> = { raw: [], documents: [], datasetProperties: [] };
  readonly #nameKeys = new Set<string>();
  readonly #leftOut = new Set<string>();
  #details: JudgedDetails<Details> | undefined;
  #url: string | undefined;
  readonly #uploadIds: string[] = [];

  constructor(session: Pick<UploadSession, 'store'>, judge: JudgeDetails<Details>) {
    this.#session = session;
    this.#judge = judge;
  }

  async take(part: MultipartPart, signal: AbortSignal): Promise<void> {
    const folder = FOLDERS.get(part.name);
    if (folder) await this.#takeFile(part, folder, signal);
    else if (isDetails(part)) await this.#takeDetails(part);
    else if (part.name === 'url') await this.#takeUrl(part);
    else if (part.name === 'uploadIds')
      this.#takeUploadId(decodeDocument(await readBytes(part.body, MAX_ID_BYTES))?.trim() ?? 'no UTF-8');
    else throw badRequest(`unknown part ${quote(part.name)}; known parts are ${PARTS.join(', ')}`);
  }

  /** A JSON body instead of parts: `details` and `uploadIds`. */
  takeJson(body: unknown): void {
    if (!isObject(body)) throw badRequest(`the body is ${describeValue(body)}; expected an object`);
    const { details, uploadIds, ...others } = body;
    const [unknown] = Object.keys(others);
    if (unknown !== undefined) throw badRequest(`unknown field ${quote(unknown)}; known are details, uploadIds`);
    if (details === undefined) throw badRequest("the field 'details' is missing");
    if (!Array.isArray(uploadIds))
      throw badRequest(`the field 'uploadIds' is ${describeValue(uploadIds)}; expected a list of ids`);
    this.#details = this.#judge(details);
    for (const id of uploadIds as readonly unknown[]) {
      if (typeof id !== 'string') throw badRequest(`the field 'uploadIds' holds ${describeValue(id)}; expected an id`);
      this.#takeUploadId(id);
    }
  }

  /** The whole form; throws 400 when parts are missing. */
  finish(): UploadForm<Details> {
    if (!this.#details) throw badRequest("the part 'details' is missing");
    const { raw: data, documents, datasetProperties: properties } = this.#files;
    if (this.#url === undefined && data.length === 0 && this.#uploadIds.length === 0)
      throw badRequest(
        this.#leftOut.size > 0
          ? onlyJunk(this.#leftOut)
          : "neither 'dataFile' nor 'url' is given, nor 'uploadIds'; expected exactly one of them",
      );
    const leftOut = [...this.#leftOut];
    return { ...this.#details, url: this.#url, uploadIds: this.#uploadIds, data, documents, properties, leftOut };
  }

  async #takeFile(part: MultipartPart, folder: FileFolder, signal: AbortSignal): Promise<void> {
    if (part.fileName !== undefined && isDesktopJunk(part.fileName)) {
      this.#leftOut.add(part.fileName);
      return;
    }
    const name = this.#fileName(part, folder);
    if (folder === 'raw') {
      if (this.#url !== undefined || this.#uploadIds.length > 0) throw severalSources();
      this.#refuseName(name);
    }
    this.#files[folder].push(await this.#session.store(folder, name, part.body, signal));
  }

  #fileName(part: MultipartPart, folder: FileFolder): string {
    const given = part.fileName ?? '';
    const checked = checkFileName(given);
    if ('fault' in checked) throw badRequest(`part '${part.name}': the file name ${quote(given)} ${checked.fault}`);
    const key = `${folder}/${fileNameKey(checked.name)}`;
    if (this.#nameKeys.has(key))
      throw badRequest(`part '${part.name}': the file name ${quote(given)} is given twice (case does not count)`);
    this.#nameKeys.add(key);
    return checked.name;
  }

  /** Refuses the file before it is read if its name is wrong whatever other parts follow. */
  #refuseName(name: string): void {
    const fault = this.#details && dataNameFault(this.#details.type, name, true);
    if (!this.#details || !fault) return;
    this.#details.faults.add(['dataFile'], fault);
    throw this.#details.faults.refusal();
  }

  async #takeDetails(part: MultipartPart): Promise<void> {
    if (this.#details) throw badRequest(`part '${part.name}': the details are given twice`);
    const body = parseJsonText(await readBytes(part.body, MAX_DETAILS_BYTES), `part '${part.name}'`);
    this.#details = this.#judge(body);
  }

  async #takeUrl(part: MultipartPart): Promise<void> {
    const url = decodeDocument(await readBytes(part.body, MAX_URL_BYTES))?.trim();
    if (url === undefined) throw badRequest("the part 'url' is not UTF-8");
    // Browsers send an empty field for "no URL".
    if (url === '') return;
    if (this.#url !== undefined) throw badRequest("the part 'url' is given twice");
    if (this.#files.raw.length > 0 || this.#uploadIds.length > 0) throw severalSources();
    this.#url = url;
  }

  #takeUploadId(id: string): void {
    if (id === '') return;
    if (this.#files.raw.length > 0 || this.#url !== undefined) throw severalSources();
    if (this.#uploadIds.includes(id)) throw badRequest(`'uploadIds' has ${quote(id)} twice`);
    if (this.#uploadIds.length >= MAX_IDS) throw badRequest(`'uploadIds' has more than ${MAX_IDS} ids`);
    this.#uploadIds.push(id);
  }
}

export const onlyJunk = (names: Iterable<string>): string =>
  `the only files are such as desktops add, which are left out: ${[...names].map(quote).join(', ')}`;

const severalSources = (): HttpError =>
  badRequest("more than one of 'dataFile', 'url' and 'uploadIds' is given; expected exactly one of them");

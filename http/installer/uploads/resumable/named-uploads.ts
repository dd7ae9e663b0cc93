// The resumable uploads that a request names as its data files. They are claimed until the request ends, so that no other request
// continues, removes or uses them. If the request fails, they are unchanged and can be named again.

import { fileNameKey, isDesktopJunk } from '../../../../engine/model/file-name.ts';
import { parseUploadId, type UserId } from '../../../../engine/model/ids.ts';
import type { FileEntry } from '../../../../engine/model/metadata.ts';
import type { ResumableUpload } from '../../../../engine/ports/resumable-uploads.ts';
import { quote } from '../../../kernel/input/describe.ts';
import type { Faults } from '../../../kernel/input/faults.ts';
import { badRequest, HttpError, tooLarge } from '../../../kernel/pipeline/errors.ts';
import { onlyJunk, type UploadForm } from '../upload-form.ts';
import type { ResumableOutcome } from './resumable-intake.ts';
import type { HeldUpload, UploadClaims } from './upload-claims.ts';

export class NamedUploads implements AsyncDisposable {
  readonly #claims: UploadClaims;
  readonly #owner: UserId;
  readonly #maxUploadBytes: number;
  readonly #held: HeldUpload[] = [];

  constructor(claims: UploadClaims, owner: UserId, maxUploadBytes: number) {
    this.#claims = claims;
    this.#owner = owner;
    this.#maxUploadBytes = maxUploadBytes;
  }

  /** In the order in which they were named. */
  get uploads(): readonly ResumableUpload[] {
    return this.#held.map(({ upload }) => upload).filter(({ fileName }) => !isDesktopJunk(fileName));
  }

  /** The data files of the form. Throws 422 for uploads that cannot be used, and 409 while another request holds one. */
  async take(
    { uploadIds, faults, leftOut }: Pick<UploadForm<unknown>, 'uploadIds' | 'faults' | 'leftOut'>,
    signal: AbortSignal,
  ): Promise<{ readonly data: readonly FileEntry[]; readonly leftOut: readonly string[] }> {
    const names = new Set<string>();
    for (const [i, given] of uploadIds.entries()) {
      const upload = await this.#claim(given, i, faults, signal);
      if (!upload) continue;
      const { offset, length, fileName } = upload;
      const key = fileNameKey(fileName);
      if (offset < length) faults.add(['uploadIds', i], `has ${offset} of ${length} bytes; finish it first`);
      if (names.has(key)) faults.add(['uploadIds', i], `is another file ${quote(fileName)} (case does not count)`);
      names.add(key);
    }
    faults.throwIfAny();
    // A digest that is not checked yet is checked by the upload lane.
    const data = this.uploads.map(({ fileName, length, sha256 }) => ({
      ...{ name: fileName, size: length },
      ...(sha256 === undefined ? {} : { sha256 }),
    }));
    const junk = this.#held.map(({ upload }) => upload.fileName).filter(isDesktopJunk);
    if (data.length === 0) throw badRequest(onlyJunk(junk));
    const bytes = data.reduce((sum, { size }) => sum + size, 0);
    if (bytes > this.#maxUploadBytes)
      throw tooLarge(`the uploads have ${bytes} bytes; an upload may have ${this.#maxUploadBytes}`);
    return { data, leftOut: [...leftOut, ...junk] };
  }

  /** Reports that a dataset was made of them. */
  used(tell: (outcome: ResumableOutcome) => void): void {
    for (const _ of this.uploads) tell('used');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const held of this.#held) await held[Symbol.asyncDispose]();
  }

  async #claim(given: string, i: number, faults: Faults, signal: AbortSignal): Promise<ResumableUpload | undefined> {
    const id = parseUploadId(given);
    try {
      const held = id && (await this.#claims.take(id, this.#owner, signal));
      if (held) this.#held.push(held);
      else faults.add(['uploadIds', i], `is ${quote(given)}, which is no id of an upload`);
      return held?.upload;
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      if (error.code === 423) throw new HttpError('conflict', error.message, { headers: error.headers });
      if (error.code === 404)
        faults.add(['uploadIds', i], `is ${quote(given)}; the owner has no such upload, or it is used`);
      else faults.add(['uploadIds', i], `is ${quote(given)}, which has expired`);
      return undefined;
    }
  }
}

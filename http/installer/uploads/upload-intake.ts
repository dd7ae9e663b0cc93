// Takes an upload in, from the first byte of its body to the moment when everything needed to finish it is durable. All routes
// that upload share one intake, so that the bounds per user hold for all of them together. A failure before the end leaves
// nothing behind, including a client that disconnects.

import { archiveByName } from '../../../engine/archive/archive-entry.ts';
import { type DataType, typeKey } from '../../../engine/model/data-types.ts';
import type { UserId } from '../../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../../engine/model/metadata.ts';
import type { DatasetAddress } from '../../../engine/model/object-key.ts';
import type { RemoteFiles } from '../../../engine/ports/remote-files.ts';
import type { UploadBytes } from '../../../engine/ports/resumable-uploads.ts';
import type { UploadSource } from '../../../engine/ports/uploads.ts';
import { type Clock, deadline } from '../../../engine/runtime/time.ts';
import { isJsonType, readJson } from '../../kernel/bodies/body.ts';
import { MULTIPART_LIMITS, type MultipartPart, readMultipart } from '../../kernel/bodies/multipart.ts';
import { quote } from '../../kernel/input/describe.ts';
import type { Faults } from '../../kernel/input/faults.ts';
import { Type } from '../../kernel/openapi/schema-node.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { failedDependency, tooLarge } from '../../kernel/pipeline/errors.ts';
import type { Fingerprint } from '../../kernel/pipeline/fingerprint.ts';
import type { Created, KeyedRequest } from '../../kernel/pipeline/idempotency.ts';
import type { RouteBody } from '../../kernel/pipeline/route.ts';
import { VdiId } from '../dataset-terms.ts';
import { checkFiles, extensionFault } from '../metadata/details-rules.ts';
import type { ReceivedUpload } from './received-upload.ts';
import { NamedUploads } from './resumable/named-uploads.ts';
import type { ResumableOutcome } from './resumable/resumable-intake.ts';
import { UploadIdText } from './resumable/resumable-routes.ts';
import type { UploadClaims } from './resumable/upload-claims.ts';
import type { SmallUploads } from './small-files.ts';
import { type JudgeDetails, MAX_JSON_BYTES, type UploadForm, UploadFormReader } from './upload-form.ts';
import type { UploadSlots } from './upload-limits.ts';
import { printUpload, takePrinted } from './upload-print.ts';
import { type UploadPorts, UploadSession } from './upload-session.ts';

/** Shortest `sourceUrl` of the contract. */
const MIN_CHARACTERS = 10;
/** Until the first byte, redirects included. The client waits for the answer meanwhile. */
const PROBE_MS = 60_000;

/** Checks the `url` of an upload; undefined after a fault was added. */
function checkUrl(text: string, enabled: boolean, faults: Faults): URL | undefined {
  const url = URL.parse(text);
  if (!enabled)
    faults.add(['url'], 'is given, but uploads by URL are not enabled on this server (restService.urlUploads)');
  else if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    faults.add(['url'], `is ${quote(text)}; expected an http or https URL`);
  else if ([...text].length < MIN_CHARACTERS)
    faults.add(['url'], `is ${quote(text)}; expected at least ${MIN_CHARACTERS} characters`);
  else return url;
  return undefined;
}

/**
 * The number of bytes to expect, if the server says so. Adds a fault when the URL or the file there is not accepted. Throws
 * 424 when the file cannot be fetched. The file itself is downloaded after the 202.
 */
export async function probeUpload(
  url: URL,
  remoteFiles: Pick<RemoteFiles, 'probe'>,
  type: DataType,
  faults: Faults,
  clock: Clock,
  signal: AbortSignal,
): Promise<number | undefined> {
  const late = (): Error => failedDependency(`${url.origin} did not answer within ${PROBE_MS / 1000} s`, url.href);
  using limit = deadline(clock, PROBE_MS, signal, late);
  const found = await remoteFiles.probe(url, limit.signal);
  switch (found.kind) {
    case 'failed':
      throw failedDependency(found.message, url.href);
    case 'refused':
      faults.add(['url'], found.reason);
      return undefined;
    case 'found': {
      const { fileName, size } = found;
      const fault = extensionFault(type, fileName, true);
      if (fault) faults.add(['url'], fault);
      else if (size !== undefined && size > type.maxFileSize && archiveByName(fileName) === undefined)
        faults.add(
          ['url'],
          `${quote(fileName)} has ${size} bytes; a file of ${typeKey(type)} may have ${type.maxFileSize}`,
        );
      return size;
    }
    default:
      throw found satisfies never;
  }
}

export interface IntakeSettings {
  /** Maximum bytes of one upload request. */
  readonly maxUploadBytes: number;
  /** Bytes that one user may keep. */
  readonly userMaxStorageBytes: number;
  /** Uploads of one user under way at once. */
  readonly uploadsPerUser: number;
  /** An upload is refused while so many jobs of its user wait. */
  readonly waitingPerUser: number;
  /** Uploads that are packed before the 202. Default: none is. */
  readonly small?: SmallUploads;
}

export interface IntakeOptions extends UploadPorts {
  readonly settings: IntakeSettings;
  /** Absent = uploads by URL are refused. */
  readonly remoteFiles?: Pick<RemoteFiles, 'probe'> | undefined;
  readonly uploadBytes: Pick<UploadBytes, 'handOver'>;
  readonly onResumable: (outcome: ResumableOutcome) => void;
}

/** What one upload is about. */
interface UploadOrder<Details> {
  readonly address: DatasetAddress;
  /** The key of the request; undefined = it has none. */
  readonly keyed: KeyedRequest | undefined;
  readonly judge: JudgeDetails<Details>;
  /** Makes the metadata document; adds its faults to the form's. */
  readonly describe: (form: UploadForm<Details>, signal: AbortSignal) => Promise<DatasetMetadata>;
  /** Makes the document again once everything is received, for metadata that may have changed since; with shares that it kept. */
  readonly complete?: (
    form: UploadForm<Details>,
    session: UploadSession,
    signal: AbortSignal,
  ) => Promise<Pick<ReceivedUpload, 'metadata' | 'shares'>>;
}

export class UploadIntake {
  readonly #options: IntakeOptions;
  readonly #slots: UploadSlots;
  readonly #claims: UploadClaims;

  /** @param slots of all uploads of this process */
  constructor(options: IntakeOptions, slots: UploadSlots, claims: UploadClaims) {
    this.#options = options;
    this.#slots = slots;
    this.#claims = claims;
  }

  /** Reads an upload that was accepted before, for its fingerprint only. */
  async print({ request, signal }: RequestContext, owner: UserId, print: Fingerprint): Promise<void> {
    using _slot = this.#slots.take(owner);
    await printUpload(request, print, this.#options.settings.maxUploadBytes, signal);
  }

  /** Resolves with the answer when the upload is accepted and durable. */
  async take<Details>(context: RequestContext, order: UploadOrder<Details>): Promise<Created> {
    const { address, keyed } = order;
    const { dataset, owner } = address;
    const created = { code: 202, body: { datasetId: dataset }, path: `/datasets/${dataset}` };
    using _slot = this.#slots.take(owner);
    const session = this.#openSession(context, address);
    await using named = new NamedUploads(this.#claims, owner, this.#options.settings.maxUploadBytes);
    let received: ReceivedUpload;
    try {
      received = await this.#receive(session, named, context, order);
      const { traceparent, signal } = context;
      await session.accept({ ...received, traceparent, keyed: keyed?.seal(created) }, signal);
    } catch (error) {
      await session.abandon();
      throw error;
    }
    named.used(this.#options.onResumable);
    context.log.info({ dataset, owner, type: typeKey(received.metadata.type) }, 'upload accepted');
    context.concerns({ dataset, records: { owner } });
    return created;
  }

  #openSession(context: RequestContext, address: DatasetAddress): UploadSession {
    const { maxUploadBytes, userMaxStorageBytes: quotaBytes, waitingPerUser, small } = this.#options.settings;
    const length = context.request.headers['content-length'];
    const announcedBytes = length === undefined ? undefined : Number(length);
    if (announcedBytes !== undefined && announcedBytes > maxUploadBytes)
      throw tooLarge(`the request has ${announcedBytes} bytes; an upload may have ${maxUploadBytes}`);
    return new UploadSession(address, this.#options, {
      ...{ maxUploadBytes, quotaBytes, waitingPerUser, announcedBytes, small },
    });
  }

  async #receive<Details>(
    session: UploadSession,
    named: NamedUploads,
    context: RequestContext,
    order: UploadOrder<Details>,
  ): Promise<ReceivedUpload> {
    const { clock, remoteFiles, uploadBytes } = this.#options;
    const { request, signal } = context;
    const reader = new UploadFormReader(session, order.judge);
    const print = order.keyed?.print;
    if (isJsonType(request.headers['content-type'])) {
      const body = await readJson(request, MAX_JSON_BYTES);
      print?.document('body', body);
      reader.takeJson(body);
    } else {
      const take = (part: MultipartPart) => reader.take(part, signal);
      const takeAny = print ? (part: MultipartPart) => takePrinted(part, print, take) : take;
      await readMultipart(request, MULTIPART_LIMITS, takeAny, signal);
    }
    const read = reader.finish();
    const form = read.uploadIds.length > 0 ? { ...read, ...(await named.take(read, signal)) } : read;
    const { type, faults, data, documents, properties } = form;
    const url = form.url === undefined ? undefined : checkUrl(form.url, remoteFiles !== undefined, faults);
    const described = await order.describe(form, signal);
    checkFiles(type, described.visibility, { data, properties }, faults);
    faults.throwIfAny();
    const expected = url && remoteFiles && (await probeUpload(url, remoteFiles, type, faults, clock, signal));
    faults.throwIfAny();
    if (expected !== undefined) await session.expect(expected, signal);
    const completed = (await order.complete?.(form, session, signal)) ?? { metadata: described };
    for (const upload of named.uploads) await session.receive(upload, uploadBytes, signal);
    const leftOut = form.leftOut.length > 0 ? { leftOut: form.leftOut } : {};
    const source: UploadSource = {
      ...(url ? { kind: 'url', url: url.href } : { kind: 'files', files: data }),
      ...leftOut,
    };
    return { ...completed, source, documents, properties };
  }
}

/** The body of the 202 to an upload (docs/contract/installer.md#endpoints). */
export const Accepted = Type.Named('AcceptedUpload', { datasetId: VdiId });

const files = (description: string): object => ({
  type: 'array',
  items: { type: 'string', contentMediaType: 'application/octet-stream' },
  description,
});

const UPLOAD_IDS = {
  type: 'array',
  items: { ...UploadIdText },
  description: 'Finished resumable uploads of the owner, which become the data files; each can be used once',
};

/**
 * The body of an upload (docs/contract/installer.md#multipart-parts).
 * @param details schema of the JSON part, which may also be named `meta`
 */
export const uploadBody = (details: object): RouteBody => ({
  description: 'Parts in any order, or JSON; exactly one of dataFile (or file), url and uploadIds is required',
  content: {
    'application/json': {
      type: 'object',
      properties: { details, uploadIds: UPLOAD_IDS },
      required: ['details', 'uploadIds'],
      additionalProperties: false,
    },
    'multipart/form-data': {
      type: 'object',
      properties: {
        details,
        dataFile: files('Data files: raw ones, or one .zip, .tar.gz or .tgz; the part may also be named file'),
        url: { type: 'string', description: 'http or https URL of the data file' },
        uploadIds: UPLOAD_IDS,
        docFile: files('Documentation'),
        dataPropertiesFile: files('Data property files'),
      },
      required: ['details'],
    },
  },
});

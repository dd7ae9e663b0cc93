// Takes an upload in, from the first byte of its body to the moment when everything needed to finish it is durable. All
// that upload share it: what a user may have under way counts once. Whatever fails before the end, the client's going
// away included, leaves nothing behind.

import { typeKey } from '../../../engine/model/data-types.ts';
import type { UserId } from '../../../engine/model/ids.ts';
import type { DatasetMetadata } from '../../../engine/model/metadata.ts';
import type { DatasetAddress } from '../../../engine/model/object-key.ts';
import type { RemoteFiles } from '../../../engine/ports/remote-files.ts';
import type { UploadSource } from '../../../engine/ports/uploads.ts';
import { MULTIPART_LIMITS, readMultipart } from '../../kernel/bodies/multipart.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import { tooLarge, tooMany } from '../../kernel/pipeline/errors.ts';
import { checkFiles } from '../checks/file-rules.ts';
import { type JudgeDetails, type UploadForm, UploadFormReader } from './upload-form.ts';
import { type ReceivedUpload, type UploadPorts, UploadSession } from './upload-session.ts';
import { UploadSlots } from './upload-slots.ts';
import { checkUrl, probeUpload } from './upload-url.ts';

/** How long somebody should wait whose jobs wait. */
const RETRY_SECONDS = 60;

export interface IntakeSettings {
  /** Bytes of one upload request. */
  readonly maxUploadBytes: number;
  /** Bytes that one user may keep. */
  readonly userMaxStorageBytes: number;
  /** Uploads of one user under way at once. */
  readonly uploadsPerUser: number;
  /** Jobs of one user that may wait when another upload is taken in. */
  readonly waitingPerUser: number;
}

export interface IntakeOptions extends UploadPorts {
  readonly settings: IntakeSettings;
  /** Absent = uploads by URL are refused. */
  readonly remoteFiles?: Pick<RemoteFiles, 'probe'> | undefined;
}

/** What one upload is about. */
export interface UploadOrder<Details> {
  readonly address: DatasetAddress;
  readonly judge: JudgeDetails<Details>;
  /** The document of what was sent; its faults become the form's. */
  readonly describe: (form: UploadForm<Details>, signal: AbortSignal) => Promise<DatasetMetadata>;
  /** Last, when all is received and accepted but for this: the document as of now. Absent = it cannot have changed. */
  readonly complete?: (
    form: UploadForm<Details>,
    session: UploadSession,
    signal: AbortSignal,
  ) => Promise<DatasetMetadata>;
}

export class UploadIntake {
  readonly #options: IntakeOptions;
  readonly #slots: UploadSlots;

  constructor(options: IntakeOptions) {
    this.#options = options;
    this.#slots = new UploadSlots(options.settings.uploadsPerUser);
  }

  /** Resolves when the upload is accepted; nothing of it can be lost then. */
  async take<Details>(context: RequestContext, order: UploadOrder<Details>): Promise<void> {
    const { dataset, owner } = order.address;
    using _slot = this.#slots.take(owner);
    await this.#demandRoom(owner, context.signal);
    const session = this.#openSession(context, order.address);
    let received: ReceivedUpload;
    try {
      received = await this.#receive(session, context, order);
      await session.accept({ ...received, traceparent: context.traceparent }, context.signal);
    } catch (error) {
      await session.abandon();
      throw error;
    }
    context.log.info({ dataset, owner, type: typeKey(received.metadata.type) }, 'upload accepted');
  }

  /** Before the body is read. Uploads that come in at the same time are as many more, at most. */
  async #demandRoom(owner: UserId, signal: AbortSignal): Promise<void> {
    const { settings, uploads } = this.#options;
    const most = settings.waitingPerUser;
    if ((await uploads.waiting(owner, most, signal)) < most) return;
    throw tooMany(
      `${most} of your uploads, imports and installs wait, which is the most allowed at once`,
      RETRY_SECONDS,
    );
  }

  #openSession(context: RequestContext, address: DatasetAddress): UploadSession {
    const { maxUploadBytes, userMaxStorageBytes: quotaBytes } = this.#options.settings;
    const length = context.request.headers['content-length'];
    const announcedBytes = length === undefined ? undefined : Number(length);
    if (announcedBytes !== undefined && announcedBytes > maxUploadBytes)
      throw tooLarge(`the request has ${announcedBytes} bytes; an upload may have ${maxUploadBytes}`);
    return new UploadSession(address, this.#options, { maxUploadBytes, quotaBytes, announcedBytes });
  }

  async #receive<Details>(
    session: UploadSession,
    context: RequestContext,
    order: UploadOrder<Details>,
  ): Promise<ReceivedUpload> {
    const { clock, remoteFiles } = this.#options;
    const { request, signal } = context;
    const reader = new UploadFormReader(session, order.judge);
    await readMultipart(request, MULTIPART_LIMITS, (part) => reader.take(part, signal), signal);
    const form = reader.finish();
    const { type, faults, data, documents, properties } = form;
    const url = form.url === undefined ? undefined : checkUrl(form.url, remoteFiles !== undefined, faults);
    const described = await order.describe(form, signal);
    checkFiles(type, described.visibility, { data, properties }, faults);
    faults.throwIfAny();
    const expected = url && remoteFiles && (await probeUpload(url, remoteFiles, type, faults, clock, signal));
    faults.throwIfAny();
    if (expected !== undefined) await session.expect(expected, signal);
    const metadata = (await order.complete?.(form, session, signal)) ?? described;
    const leftOut = form.leftOut.length > 0 ? { leftOut: form.leftOut } : {};
    const source: UploadSource = {
      ...(url ? { kind: 'url', url: url.href } : { kind: 'files', files: data }),
      ...leftOut,
    };
    return { metadata, source, documents, properties };
  }
}

/** The 202 to an accepted upload. */
export async function answerAccepted(context: RequestContext, { dataset, owner }: DatasetAddress): Promise<void> {
  context.concerns({ dataset, records: { owner } });
  await context.json(202, { datasetId: dataset }, { location: `${context.publicUrl}/datasets/${dataset}` });
}

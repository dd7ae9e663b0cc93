// POST /datasets: takes an upload in and answers 202 once everything needed to finish it is durable (design, Create).
// Whatever fails before that, the client's going away included, leaves nothing behind.

import { typeKey } from '../../engine/model/data-types.ts';
import { newDatasetId, type UserId } from '../../engine/model/ids.ts';
import type { RemoteFiles } from '../../engine/ports/remote-files.ts';
import type { UploadSource } from '../../engine/ports/uploads.ts';
import type { RequestContext } from '../context.ts';
import { tooLarge } from '../errors.ts';
import { MULTIPART_LIMITS, readMultipart } from '../multipart.ts';
import type { Route } from '../route.ts';
import { DetailsCheck } from './checks/details-check.ts';
import { checkFiles } from './checks/file-rules.ts';
import { CreateFormReader, type FormChecks } from './create-form.ts';
import type { InstallTargets } from './install-targets.ts';
import { metadataFromDetails } from './metadata-from-details.ts';
import { answer, refusals } from './responses.ts';
import { Accepted } from './schema/accepted.ts';
import { type ReceivedUpload, type UploadPorts, UploadSession } from './upload-session.ts';
import { UploadSlots } from './upload-slots.ts';
import { checkUrl, probeUpload } from './upload-url.ts';

export interface CreateSettings {
  /** Bytes of one upload request. */
  readonly maxUploadBytes: number;
  /** Bytes of raw uploads that one user may keep. */
  readonly userMaxStorageBytes: number;
  /** Uploads of one user under way at once. */
  readonly uploadsPerUser: number;
}

export interface CreateOptions extends UploadPorts {
  readonly settings: CreateSettings;
  readonly targets: InstallTargets;
  readonly dataTypes: FormChecks['dataTypes'];
  /** Fills the array with random bytes. */
  readonly random: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array;
  /** Absent = uploads by URL are refused. */
  readonly remoteFiles?: Pick<RemoteFiles, 'probe'> | undefined;
}

/** What one upload is about, besides its body. */
export interface CreateOrder {
  readonly owner: UserId;
  readonly details: FormChecks['details'];
  /** When the dataset was made, in ms since 1970; asked for once the details are sound. Undefined = now. */
  readonly createdMs?: () => number | undefined;
}

export function createRoute(creation: Creation): Route {
  return {
    method: 'POST',
    path: '/datasets',
    access: 'user',
    operationId: 'createDataset',
    summary: 'Uploads a dataset',
    responses: {
      202: answer('Accepted for processing; Location names the dataset', Accepted),
      ...refusals({
        400: 'The body cannot be used',
        403: 'Guests cannot upload',
        413: 'Larger than an upload may be, or than the storage quota allows',
        422: 'Metadata, files or URL are not accepted',
        424: 'Nothing can be fetched from the URL',
        429: 'Too many uploads at once',
      }),
    },
    handler: (context) => creation.answer(context, { owner: context.userId, details: creation.details }),
  };
}

/** Shared by all routes that take uploads in: what a user may have under way counts once. */
export class Creation {
  /** What is asked of the details of every upload. */
  readonly details: DetailsCheck;
  readonly #options: CreateOptions;
  readonly #slots: UploadSlots;

  constructor(options: CreateOptions) {
    this.#options = options;
    this.details = new DetailsCheck(options.targets, options.dataTypes);
    this.#slots = new UploadSlots(options.settings.uploadsPerUser);
  }

  async answer(context: RequestContext, order: CreateOrder): Promise<void> {
    using _slot = this.#slots.take(order.owner);
    const session = this.#openSession(context, order);
    const { dataset, owner } = session.address;
    let received: ReceivedUpload;
    try {
      received = await this.#receive(session, context, order);
      await session.accept(received, context.signal);
    } catch (error) {
      await session.abandon();
      throw error;
    }
    context.log.info({ dataset, owner, type: typeKey(received.metadata.type) }, 'upload accepted');
    await context.json(202, { datasetId: dataset }, { location: `${context.publicUrl}/datasets/${dataset}` });
  }

  #openSession(context: RequestContext, { owner }: CreateOrder): UploadSession {
    const { clock, random, settings } = this.#options;
    const { maxUploadBytes, userMaxStorageBytes: quotaBytes } = settings;
    const length = context.request.headers['content-length'];
    const announcedBytes = length === undefined ? undefined : Number(length);
    if (announcedBytes !== undefined && announcedBytes > maxUploadBytes)
      throw tooLarge(`the request has ${announcedBytes} bytes; an upload may have ${maxUploadBytes}`);
    const address = { owner, dataset: newDatasetId(clock.now(), random) };
    return new UploadSession(address, this.#options, { maxUploadBytes, quotaBytes, announcedBytes });
  }

  async #receive(session: UploadSession, context: RequestContext, order: CreateOrder): Promise<ReceivedUpload> {
    const { dataTypes, clock, remoteFiles } = this.#options;
    const { request, signal, version } = context;
    const reader = new CreateFormReader(session, { details: order.details, dataTypes, version });
    await readMultipart(request, MULTIPART_LIMITS, (part) => reader.take(part, signal), signal);
    const { details, type, faults, url: urlText, data, documents, properties } = reader.finish();
    const url = urlText === undefined ? undefined : checkUrl(urlText, remoteFiles !== undefined, faults);
    const metadata = metadataFromDetails(details, {
      owner: order.owner,
      created: new Date(order.createdMs?.() ?? clock.now()).toISOString(),
      ...(urlText === undefined ? {} : { sourceUrl: urlText }),
    });
    checkFiles(type, metadata.visibility, { data, properties }, faults);
    this.details.checkDocument(metadata, faults);
    if (!faults.empty) throw faults.refusal();
    const expected = url && remoteFiles && (await probeUpload(url, remoteFiles, type, faults, clock, signal));
    if (!faults.empty) throw faults.refusal();
    if (expected !== undefined) await session.expect(expected, signal);
    const source: UploadSource = url ? { kind: 'url', url: url.href } : { kind: 'files', files: data };
    return { metadata, source, documents, properties };
  }
}

// POST /datasets: takes an upload in and answers 202 once everything needed to finish it is durable
// (docs/design/decisions.md#create-and-the-upload-lane).

import type { DataTypes } from '../../../engine/model/data-types.ts';
import { newDatasetId, type UserId } from '../../../engine/model/ids.ts';
import type { Clock } from '../../../engine/runtime/time.ts';
import type { RequestContext } from '../../kernel/pipeline/context.ts';
import type { Fingerprint } from '../../kernel/pipeline/fingerprint.ts';
import type { Created, KeyedRequest } from '../../kernel/pipeline/idempotency.ts';
import { answer, type Route, refusals } from '../../kernel/pipeline/route.ts';
import { CreateDetails } from '../metadata/create-details.ts';
import type { DetailsCheck } from '../metadata/details-check.ts';
import { metadataFromDetails } from '../metadata/stored-metadata.ts';
import type { JudgedDetails } from './upload-form.ts';
import { Accepted, type UploadIntake, uploadBody } from './upload-intake.ts';

export interface CreateOptions {
  readonly intake: UploadIntake;
  readonly details: DetailsCheck;
  readonly dataTypes: DataTypes;
  readonly clock: Clock;
  /** Fills the array with random bytes. */
  readonly random: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array;
}

/** What the service knows about an upload besides its body. */
export interface CreateOrder {
  readonly owner: UserId;
  readonly details: Pick<DetailsCheck, 'check'>;
  /** When the dataset was created, in ms since 1970. Is called once the details are sound. Undefined = now. */
  readonly createdMs?: () => number | undefined;
}

export function createRoute(creation: Creation): Route {
  return {
    method: 'POST',
    path: '/datasets',
    access: 'user',
    keyed: true,
    operationId: 'createDataset',
    summary: 'Uploads a dataset',
    body: uploadBody({ ...CreateDetails }),
    responses: {
      202: answer('Accepted for processing; Location names the dataset', Accepted),
      ...refusals({
        400: 'The body cannot be used, or is larger than an upload may be or than the storage quota allows',
        403: 'Guests cannot upload',
        409: 'Another request uses one of uploadIds',
        415: 'The body is neither multipart/form-data nor JSON',
        422: 'Metadata, files or URL are not accepted',
        424: 'Nothing can be fetched from the URL',
        429: 'Too many uploads at once',
      }),
    },
    handler: (context) => creation.answer(context, { owner: context.userId, details: creation.details }),
  };
}

/** Shared by all routes that create datasets. */
export class Creation {
  /** The checks that the details of every upload must pass. */
  readonly details: DetailsCheck;
  readonly #options: CreateOptions;

  constructor(options: CreateOptions) {
    this.#options = options;
    this.details = options.details;
  }

  /** In ms since 1970. */
  now(): number {
    return this.#options.clock.now();
  }

  async answer(context: RequestContext, order: CreateOrder): Promise<void> {
    const { owner } = order;
    const read = async (print: Fingerprint): Promise<void> => {
      print.document('owner', owner);
      await this.#options.intake.print(context, owner, print);
    };
    await context.once(read, async (keyed) => {
      keyed?.print.document('owner', owner);
      return this.#create(context, order, keyed);
    });
  }

  #create(context: RequestContext, order: CreateOrder, keyed: KeyedRequest | undefined): Promise<Created> {
    const { intake, clock, random } = this.#options;
    const { owner } = order;
    return intake.take<CreateDetails>(context, {
      address: { owner, dataset: newDatasetId(clock.now(), random) },
      keyed,
      judge: (body) => this.#judge(body, context, order),
      describe: async ({ details, url, faults }) => {
        const metadata = metadataFromDetails(details, {
          owner,
          created: new Date(order.createdMs?.() ?? clock.now()).toISOString(),
          ...(url === undefined ? {} : { sourceUrl: url }),
        });
        this.details.checkDocument(metadata, faults);
        return metadata;
      },
    });
  }

  #judge(body: unknown, context: RequestContext, order: CreateOrder): JudgedDetails<CreateDetails> {
    const { details, faults } = order.details.check(body, context.version);
    const type = details && this.#options.dataTypes.find(details.type);
    if (!details || !type) throw faults.refusal();
    return { details, type, faults };
  }
}

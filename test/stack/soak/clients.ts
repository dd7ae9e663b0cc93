// The mixed load: clients of three users, each of which does one thing after another, chosen by the seed. Of one dataset, one
// client does one thing at a time, so that the model knows which request was the last.

import { createHash, randomUUID } from 'node:crypto';
import type { FormData } from 'undici';
import { systemClock } from '../../../engine/runtime/time.ts';
import { detailsOf, formOf, type TestFile } from '../../support/api.ts';
import { TARGETS } from '../installation.ts';
import { USERS } from '../scale-out/site.ts';
import { genesOf } from '../scale-out/uploads.ts';
import { type Calls, RefusedError, type Request } from './calls.ts';
import type { Dataset, Model } from './model.ts';
import { resumable } from './resumable.ts';

export type Random = () => number;
const MIB = 1024 * 1024;
const [SMALLEST, LARGEST] = [16 * MIB, 40 * MIB];
const FORMATS = ['pairwise', 'tabular', 'xml', 'sam', 'csv'];
const never = new AbortController().signal;

export interface ClientOptions {
  readonly user: string;
  readonly token: string;
  /** Of the user who decides about access. */
  readonly ownerToken: string;
  readonly calls: Calls;
  readonly model: Model;
  readonly random: Random;
  /** Ids of query jobs. */
  readonly queries: readonly string[];
  /** Ids of curated datasets. */
  readonly curated: readonly string[];
  /** Between two things, in milliseconds; half of it to one and a half. */
  readonly pauseMs: number;
}

/** How often each is done. */
const WEIGHTS = {
  uploadSmall: 24,
  uploadLarge: 1.2,
  uploadResumable: 1.2,
  refused: 5,
  edit: 20,
  offer: 14,
  answer: 12,
  revise: 6,
  remove: 6,
  undelete: 4,
  report: 6,
  requestAccess: 6,
  list: 8,
} as const;
type Deed = keyof typeof WEIGHTS;

let named = 0;

export class Client {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Until it is over; what was begun is done to its end. */
  async run(isOver: () => boolean): Promise<void> {
    const { random, pauseMs } = this.#options;
    while (!isOver()) {
      try {
        await this[this.#choose()]();
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error;
      }
      await systemClock.sleep(pauseMs * (0.5 + random()), never);
    }
  }

  #choose(): Deed {
    const all = Object.entries(WEIGHTS) as [Deed, number][];
    let left = this.#options.random() * all.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [deed, weight] of all) {
      left -= weight;
      if (left < 0) return deed;
    }
    return 'list';
  }

  async uploadSmall(): Promise<void> {
    const content = nextName();
    await this.#create('upload', content, undefined, (details) => formOf(details, [genesFile(content)]));
  }

  async uploadLarge(): Promise<void> {
    const [content, bytes] = [nextName(), this.#bytes()];
    const files = [genesFile(content), { name: 'large.bin', content: bytes }];
    await this.#create('large upload', content, digestOf(bytes), (details) => formOf(details, files));
  }

  async uploadResumable(): Promise<void> {
    const [content, bytes] = [nextName(), this.#bytes()];
    const ids: string[] = [];
    for (const file of [genesFile(content), { name: 'large.bin', content: bytes }])
      ids.push(await resumable(this.#options, file));
    await this.#create('dataset of resumable uploads', content, digestOf(bytes), (details) => {
      const form = formOf(details, []);
      for (const id of ids) form.append('uploadIds', id);
      return form;
    });
  }

  /** Refused, whatever is away: nothing may be left of it. */
  async refused(): Promise<void> {
    const { calls, token, random } = this.#options;
    const foreign = this.#pick((one) => one.owner !== this.#options.user);
    if (foreign && random() < 0.5) {
      const json = { summary: { value: 'Not by its owner' } };
      const path = `/datasets/${foreign.id}`;
      // Gone, for those who could see it.
      await calls.ask({ kind: 'refused edit', method: 'PATCH', path, token, json, ends: [403, 404, 410] });
      return;
    }
    const form = (): FormData => formOf(detailsOf('unknown'), [genesFile('Nobody')]);
    await calls.ask({ ...this.#keyed('refused upload', 'POST', '/datasets'), body: form, ends: [422] });
  }

  async edit(): Promise<void> {
    await this.#withOne(live, async (dataset) => {
      const summary = `Edited ${++named}`;
      if (await this.#change('edit', 'PATCH', `/datasets/${dataset.id}`, [204], { summary: { value: summary } }))
        dataset.summary = summary;
    });
  }

  async offer(): Promise<void> {
    const { user, random } = this.#options;
    await this.#withOne(live, async (dataset) => {
      const others = USERS.filter((other) => other !== user);
      const recipient = others[Math.floor(random() * others.length)] ?? '';
      const share = dataset.shares.get(recipient);
      const action = share?.offer === 'grant' && random() < 0.5 ? 'revoke' : 'grant';
      const path = `/datasets/${dataset.id}/shares/${recipient}/offer`;
      if (await this.#change('offer', 'PUT', path, [204, 403], { action }))
        dataset.shares.set(recipient, { ...share, offer: action });
    });
  }

  /** Of an offer to this user. */
  async answer(): Promise<void> {
    const { user, random } = this.#options;
    const isOffered = (one: Dataset): boolean => one.state === 'live' && one.shares.get(user)?.offer === 'grant';
    await this.#withOne(
      isOffered,
      async (dataset) => {
        const share = dataset.shares.get(user);
        const action = random() < 0.7 ? 'accept' : 'reject';
        const path = `/datasets/${dataset.id}/shares/${user}/receipt`;
        // Of a revision that is not imported, an inherited offer cannot be accepted yet.
        if ((await this.#change('receipt', 'PUT', path, [204, 403], { action })) && share) share.receipt = action;
      },
      false,
    );
  }

  async revise(): Promise<void> {
    await this.#withOne(live, async (dataset) => {
      const content = nextName();
      const details = { origin: 'direct-upload', revisionNote: `A revision of ${dataset.content}` };
      const { status, body } = await this.#options.calls.json<{ datasetId: string }>({
        ...this.#keyed('revision', 'PUT', `/datasets/${dataset.id}`),
        body: () => formOf(details, [genesFile(content)]),
        ends: [202, 403],
      });
      if (status === 403) return;
      const { owner, summary, shares, older } = dataset;
      const copies = new Map([...shares].map(([recipient, share]) => [recipient, { ...share }]));
      const replaced = [dataset, ...older];
      this.#options.model.add({
        ...{ id: body.datasetId, owner, content, summary, digest: undefined },
        ...{ shares: copies, older: replaced },
      });
      dataset.state = 'superseded';
    });
  }

  async remove(): Promise<void> {
    await this.#withOne(live, async (dataset) => {
      // A repetition may find it gone.
      await this.#change('delete', 'DELETE', `/datasets/${dataset.id}`, [204, 410]);
      this.#options.model.delete(dataset);
    });
  }

  async undelete(): Promise<void> {
    const newest = (one: Dataset): boolean => one.state === 'deleted' && !this.#isReplaced(one);
    await this.#withOne(newest, async (dataset) => {
      await this.#change('undelete', 'POST', `/datasets/${dataset.id}/undelete`, [204]);
      this.#options.model.undelete(dataset);
    });
  }

  async report(): Promise<void> {
    const { calls, token, random, model, queries } = this.#options;
    const queryJobID = queries[Math.floor(random() * queries.length)];
    const formatType = FORMATS[Math.floor(random() * FORMATS.length)];
    const at = { service: 'report', token } as const;
    const asked = await calls.json<{ reportJobID: string }>({
      ...{ ...this.#keyed('report', 'POST', '/jobs'), ...at, ends: [200] },
      json: { queryJobID, blastConfig: { formatType, maxTargetSequences: 5 + Math.floor(random() * 1_000) } },
    });
    const id = asked.body.reportJobID;
    model.reports.add(id);
    const get = (path: string, ends: readonly number[]): Request => ({
      ...{ kind: 'reading a report', method: 'GET', path: `/jobs/${id}${path}`, ends },
      ...at,
    });
    for (let status = ''; status !== 'complete'; await systemClock.sleep(500, never)) {
      ({ status } = (await calls.json<{ status: string }>(get('', [200]))).body);
      if (status !== 'failed') continue;
      calls.wrong.push(`report ${id} failed: ${(await calls.ask(get('/stderr', [200]))).bytes}`);
      return;
    }
    const { body: files } = await calls.json<{ name: string; size: number }[]>(get('/files', [200]));
    for (const { name, size } of files) {
      const { bytes } = await calls.ask(get(`/files/${name}`, [200]));
      if (bytes.length !== size) calls.wrong.push(`report ${id}: ${name} has ${bytes.length} bytes, not ${size}`);
    }
  }

  /** And the decision about it. */
  async requestAccess(): Promise<void> {
    const { calls, model, user, token, ownerToken, curated, random } = this.#options;
    const datasetId = curated[Math.floor(random() * curated.length)] ?? '';
    const key = `${user} ${datasetId}`;
    // Nobody decides about their own.
    if (token === ownerToken || model.access.has(key)) return;
    model.access.set(key, 'requested');
    const request = {
      ...{ userId: Number(user), datasetId, purpose: 'P', researchQuestion: 'R', analysisPlan: 'A' },
      ...{ disseminationPlan: 'D', priorAuth: 'yes' },
    };
    const keyed = this.#keyed('access request', 'POST', '/dataset-end-users');
    await calls.ask({ ...keyed, service: 'access', json: request, ends: [200] });
    const approvalStatus = random() < 0.6 ? 'approved' : 'denied';
    await calls.ask({
      ...{ kind: 'access decision', service: 'access', method: 'PATCH', token: ownerToken, ends: [204] },
      path: `/dataset-end-users/${user}-${datasetId}`,
      json: [{ op: 'replace', path: '/approvalStatus', value: approvalStatus }],
    });
    model.access.set(key, approvalStatus);
  }

  async list(): Promise<void> {
    const { calls, token } = this.#options;
    await calls.ask({ kind: 'list', method: 'GET', path: '/datasets', token, ends: [200] });
  }

  async #create(
    kind: string,
    content: string,
    digest: string | undefined,
    form: (details: object) => FormData,
  ): Promise<void> {
    const { calls, model, user } = this.#options;
    const summary = 'As uploaded';
    const details = detailsOf('genelist', { name: content, summary, installTargets: TARGETS });
    const { body } = await calls.json<{ datasetId: string }>({
      ...this.#keyed(kind, 'POST', '/datasets'),
      body: () => form(details),
      ends: [202],
      // The attempt before may not be over yet: it holds the resumable uploads.
      again: [409],
    });
    model.add({ id: body.datasetId, owner: user, content, summary, digest });
  }

  #keyed(kind: string, method: string, path: string): Omit<Request, 'ends'> {
    return { kind, method, path, token: this.#options.token, headers: { 'idempotency-key': randomUUID() } };
  }

  /** Whether it was not refused. */
  async #change(kind: string, method: string, path: string, ends: readonly number[], json?: object): Promise<boolean> {
    const { calls, token } = this.#options;
    return (await calls.ask({ kind, method, path, token, ends, json })).status !== 403;
  }

  async #withOne(
    which: (dataset: Dataset) => boolean,
    work: (dataset: Dataset) => Promise<void>,
    isOwn = true,
  ): Promise<void> {
    const { user } = this.#options;
    const dataset = this.#pick((one) => !one.isBusy && (one.owner === user) === isOwn && which(one));
    if (!dataset) return;
    dataset.isBusy = true;
    try {
      await work(dataset);
    } finally {
      dataset.isBusy = false;
    }
  }

  #pick(which: (dataset: Dataset) => boolean): Dataset | undefined {
    const all = [...this.#options.model.datasets.values()].filter(which);
    return all[Math.floor(this.#options.random() * all.length)];
  }

  #isReplaced(dataset: Dataset): boolean {
    return [...this.#options.model.datasets.values()].some(({ older }) => older.includes(dataset));
  }

  #bytes(): Buffer {
    const { random } = this.#options;
    const bytes = Buffer.alloc(SMALLEST + Math.floor(random() * (LARGEST - SMALLEST)));
    // Enough that no two are the same; an archive of it is small, the upload is not.
    for (let at = 0; at + 4 <= bytes.length; at += 512) bytes.writeUInt32LE(Math.floor(random() * 2 ** 32), at);
    return bytes;
  }
}

const live = ({ state }: Dataset): boolean => state === 'live';
const nextName = (): string => `Dataset ${++named}`;
const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const genesFile = (content: string): TestFile => ({ name: 'genes.txt', content: `${genesOf(content).join('\n')}\n` });

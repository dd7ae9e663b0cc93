// The dataset access service of the running program as its contract's tests know it: the sample studies, a client for
// every role, and as many further people as wanted.

import { readFile } from 'node:fs/promises';
import type { Test } from 'tap';
import { dataDir } from '../../bin/compose/data-dir.ts';
import { LOCAL_ISSUER } from '../../engine/model/ids.ts';
import { issueToken } from '../../http/kernel/auth/local-issuer.ts';
import { freePortBase, tempDir, up } from '../support/longshore.ts';
import type { AccessRowId } from './access.ts';
import { type Answer, ContractClient } from './client.ts';
import { Recorder } from './recorder.ts';

export type Body = Record<string, unknown>;

export interface Person {
  readonly id: number;
  readonly token: string;
  readonly client: ContractClient;
  readonly email: string;
  /** As shown, once the person has called. */
  readonly shown: Body;
}

export interface AccessWorld {
  readonly dir: string;
  readonly url: string;
  readonly adminToken: string;
  readonly recorder: Recorder;
  readonly owner: Person;
  /** Staff, and no owner. */
  readonly staff: Person;
  /** Of SAMPLE_private and SAMPLE_protected. */
  readonly manager: Person;
  /** Of SAMPLE_private, and no manager. */
  readonly provider: Person;
  readonly stranger: Person;
  readonly guest: Person;
  readonly admin: ContractClient;
  readonly nobody: ContractClient;
  as(headers: Readonly<Record<string, string>>): ContractClient;
  /** Somebody new. */
  person(claims?: object): Promise<Person>;
  /** Somebody with a request for SAMPLE_private; returns its path too. */
  requester(): Promise<Person & { readonly path: string }>;
  /** Asks for access to SAMPLE_private, for themselves unless the body says otherwise. */
  ask(who: Person, more?: Body): Promise<Answer>;
  /** Has the status of the request of the path set by the manager; the code of the answer. */
  become(path: string, status: string): Promise<number>;
  /** The test of a row of the contract. */
  row(id: AccessRowId, facts: (t: Test) => Promise<unknown>): void;
}

export const TEXTS = {
  purpose: 'To learn',
  researchQuestion: 'Why?',
  analysisPlan: 'Look',
  disseminationPlan: 'Tell',
  priorAuth: 'None',
};
export const DATASET = 'SAMPLE_private';
export const item = (op: string, path: string, value?: unknown) => ({
  op,
  path,
  ...(value === undefined ? {} : { value }),
});
export const replace = (path: string, value: unknown) => item('replace', path, value);

/** The body of a 200. */
export function bodyOf({ status, body, text }: Answer): Body {
  if (status !== 200) throw new Error(`${status} ${text}`);
  return body as Body;
}

/** What a page holds. */
export const dataOf = (answer: Answer): readonly Body[] => bodyOf(answer).data as Body[];

/** Keys of the faults of a 422; of what was accepted, `accepted`. */
export function faultsOf({ status, body, text }: Answer): readonly string[] | 'accepted' {
  if (status === 200 || status === 204) return 'accepted';
  if (status !== 422) throw new Error(`neither accepted nor invalid: ${status} ${text}`);
  const { errors } = body as { errors: { byKey: Record<string, string[]> } };
  return Object.keys(errors.byKey).sort();
}

export async function accessWorld(t: Test): Promise<AccessWorld> {
  const dir = await tempDir(t);
  const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
  const { access: url, adminToken } = app.endpoints;
  const recorder = await Recorder.of('access', url);
  t.teardown(() => recorder.save());
  const privateKeyPem = await readFile(dataDir(dir).tokenKey, 'utf8');
  const as = (headers: Readonly<Record<string, string>>): ContractClient => new ContractClient(url, headers, recorder);
  let people = 100;
  const person: AccessWorld['person'] = async (claims = {}) => {
    const id = ++people;
    const email = `u${id}@site.example`;
    const profile = {
      ...{ given_name: `First${id}`, family_name: `Last${id}`, affiliation: 'Lab', email, email_verified: true },
      ...claims,
    };
    const subject = { privateKeyPem, issuer: LOCAL_ISSUER, subject: String(id), lifetimeSeconds: 3_600 };
    const token = await issueToken({ ...subject, claims: profile });
    const shown = { userId: id, firstName: `First${id}`, lastName: `Last${id}`, organization: 'Lab', email };
    return { id, token, email, shown, client: as({ auth_key: token }) };
  };
  const admin = as({ 'admin-token': adminToken });
  const [owner, staff, manager, provider] = [await person(), await person(), await person(), await person()];
  bodyOf(await admin.send('POST', '/staff', { userId: owner.id, isOwner: true }));
  bodyOf(await owner.client.send('POST', '/staff', { userId: staff.id, isOwner: false }));
  // Whoever has called is known by name.
  for (const { client } of [staff, manager, provider]) await client.get('/permissions');
  for (const [datasetId, userId, isManager] of [
    [DATASET, manager.id, true],
    ['SAMPLE_protected', manager.id, true],
    [DATASET, provider.id, false],
  ])
    bodyOf(await owner.client.send('POST', '/dataset-providers', { datasetId, userId, isManager }));
  const ask: AccessWorld['ask'] = (who, more = {}) =>
    who.client.send('POST', '/dataset-end-users', { ...TEXTS, userId: who.id, datasetId: DATASET, ...more });
  return {
    ask,
    become: async (path, status) =>
      (await manager.client.send('PATCH', path, [replace('/approvalStatus', status)])).status,
    ...{ dir, url, adminToken, recorder, owner, staff, manager, provider, admin, as, person },
    stranger: await person(),
    guest: await person({ guest: true }),
    nobody: as({}),
    async requester() {
      const who = await person();
      bodyOf(await ask(who));
      return { ...who, path: `/dataset-end-users/${who.id}-${DATASET}` };
    },
    row: (id, facts) => void t.test(id, facts),
  };
}

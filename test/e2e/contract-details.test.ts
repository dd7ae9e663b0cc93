// The contract of the installer on the running program: the metadata table, its conditions, the parts of an upload.

import t from 'tap';
import {
  above,
  allAbove,
  allBelow,
  allEmpty,
  allTwice,
  atMaximum,
  atMinimum,
  below,
  isBelow,
  LEAVES,
  REQUIRED,
} from '../contract/bounds.ts';
import { type Answer, details, faultsOf, idOf, type Part } from '../contract/client.ts';
import { FIELD_ROWS } from '../contract/fields.ts';
import type { RowId } from '../contract/installer.ts';
import { ended, inCache } from '../contract/watch.ts';
import { FRIEND, LONGEST_TARGET, MAX_TYPE_BYTES, MAX_UPLOAD_BYTES, OWNER, TARGETS, world } from '../contract/world.ts';
import { zipOf } from '../fixtures/zip-of.ts';
import { remoteServer } from '../support/remote-server.ts';

const at = await world(t);
const { owner, row } = at;

const QUOTA_BYTES = 10_737_418_240;
const FILE: Part = ['dataFile', 'PF3D7_0100100\n', 'genes.txt'];
const post = (body: object, ...parts: readonly Part[]): Promise<Answer> =>
  owner.form([['details', JSON.stringify(body)], ...(parts.length > 0 ? parts : [FILE])]);
const faults = async (body: object): Promise<Readonly<Record<string, readonly string[]>>> => faultsOf(await post(body));
const shown = async (id: string, headers = {}): Promise<Record<string, unknown>> =>
  (await owner.get(`/datasets/${id}`, headers)).body as Record<string, unknown>;

const ids = { minimum: idOf(await post(atMinimum())), maximum: idOf(await post(atMaximum())) };
const found = {
  below: await faults(allBelow()),
  above: await faults(allAbove()),
  twice: await faults(allTwice()),
  empty: await faults(allEmpty()),
  nothing: await faults({}),
};
const kept = { minimum: await shown(ids.minimum), maximum: await shown(ids.maximum) };

/** What each field of the table has beyond its bounds, its requiredness, its lists and what is kept of it. */
const MORE: Readonly<Record<string, readonly (readonly [wrong: object, key: string, fault: RegExp])[]>> = {
  installTargets: [[{ installTargets: ['NoSuchDB'] }, 'installTargets[0]', /^is 'NoSuchDB'; install targets are /]],
  publications: [
    [{ publications: [{ identifier: '123', type: 'isbn' }] }, 'publications[0].type', /'pmid', 'doi'/],
    [
      { publications: ['123', '456'].map((identifier) => ({ identifier, isPrimary: true })) },
      'publications[1].isPrimary',
      /at most one may be primary/,
    ],
  ],
  contacts: [
    [
      { contacts: ['Ada', 'Eva'].map((firstName) => ({ firstName, isPrimary: true })) },
      'contacts[1].isPrimary',
      /at most one may be primary/,
    ],
  ],
  type: [[{ type: { name: 'unknown', version: '1.0' } }, 'type', /^is 'unknown:1\.0'; registered are /]],
  visibility: [[{ visibility: 'secret' }, 'visibility', /'private', 'protected', 'public', 'controlled'/]],
};

for (const id of Object.keys(FIELD_ROWS).filter((one) => one.startsWith('details/'))) {
  const field = id.slice('details/'.length);
  row(id as RowId, async (t) => {
    const leaves = LEAVES.filter(({ key }) => isBelow(key, field));
    t.ok(leaves.length > 0, 'it is a field of the schema');
    for (const leaf of leaves) {
      const { key, schema } = leaf;
      const [low, high] = [below(leaf), above(leaf)];
      const bound = schema.type === 'integer' ? /a whole number from/ : /^has \d+ characters?; text of /;
      if (low !== undefined) t.match(found.below[key]?.[0], bound, `${key} = ${String(low).slice(0, 20)}`);
      if (high !== undefined) t.match(found.above[key]?.[0], bound, `${key} = ${String(high).slice(0, 20)}..`);
      if (schema.uniqueItems) t.match(found.twice[key]?.[0], /^holds the same item at 0 and 1/, key);
    }
    for (const key of REQUIRED.filter((one) => isBelow(one, field)))
      t.match((found.empty[key] ?? found.nothing[key])?.[0], /^is missing; /, `${key} is required`);
    for (const [wrong, key, fault] of MORE[field] ?? []) t.match((await faults(details(wrong)))[key]?.[0], fault, key);
    const given = { minimum: atMinimum(), maximum: atMaximum() };
    for (const which of ['minimum', 'maximum'] as const)
      t.match(kept[which][field], given[which][field] as object, `the ${which} is kept`);
  });
}

row('limits/fields', async (t) => {
  const keys = (which: (leaf: (typeof LEAVES)[number]) => unknown): string[] =>
    LEAVES.filter((leaf) => which(leaf) !== undefined).map(({ key }) => key);
  const bounded = (given: Readonly<Record<string, readonly string[]>>): string[] =>
    Object.keys(given).filter((key) => /characters?; text of|a whole number from/.test(given[key]?.[0] ?? ''));
  t.same(bounded(found.below).sort(), keys(below).sort(), 'below every lower bound, and nowhere else');
  t.same(bounded(found.above).sort(), keys(above).sort(), 'above every upper bound, and nowhere else');
});

row('dataset/metadata', async (t) => {
  const given = atMaximum();
  t.match(kept.maximum, { ...given, type: { ...(given.type as object), category: 'Of odd length' } });
});

row('types/VdiId', async (t) => {
  for (const id of Object.values(ids)) t.match(id, /^[a-zA-Z0-9_-]+$/);
  // Not `%2e%2e`: clients make `/` of it, where the console is.
  for (const id of ['a.b', '%2e%2ea', 'a%20b']) t.equal((await owner.get(`/datasets/${id}`)).status, 404, id);
});

row('types/InstallTargetID', async (t) => {
  t.same([kept.minimum.installTargets, kept.maximum.installTargets], [[TARGETS.genomics], [LONGEST_TARGET]]);
  t.same([TARGETS.genomics.length, LONGEST_TARGET.length], [5, 32]);
});

row('types/UserId', async (t) => {
  const answer = await owner.get(`/datasets/${ids.minimum}`);
  t.match(answer.text, `"userId":${OWNER}`, 'digit by digit above 2^53');
  const put = async (user: string) =>
    (await owner.send('PUT', `/datasets/${ids.minimum}/shares/${user}/offer`, { action: 'grant' })).status;
  t.same([await put('0'), await put('-1'), await put('9223372036854776001'), await put('me')], [400, 400, 400, 400]);
  await ended(at.dir, ids.minimum);
  t.equal(await put('9223372036854776000'), 204);
});

row('types/Visibility', async (t) => {
  const seen: unknown[] = [];
  for (const visibility of [undefined, 'private', 'protected', 'public', 'controlled']) {
    const id = idOf(await post(details(visibility === undefined ? {} : { visibility })));
    const { visibility: said, daysForApproval } = await shown(id);
    seen.push([said, daysForApproval]);
  }
  const zero = idOf(await post(details({ visibility: 'protected', daysForApproval: 0 })));
  t.same(seen, [
    ['private', -1],
    ['private', -1],
    ['protected', -1],
    ['public', -1],
    ['controlled', 0],
  ]);
  t.equal((await shown(zero)).visibility, 'controlled', 'protected with 0 days to approve is controlled');
});

row('types/DatasetTypeInput', async (t) => {
  t.same(
    ['type.name', 'type.version'].map((key) => [found.empty[key]?.[0]?.split(';')[0], found.above[key]?.[0]]),
    [
      ['is missing', 'has 129 characters; text of 3 to 128 characters is required'],
      ['is missing', 'has 33 characters; text of 1 to 32 characters is required'],
    ],
  );
});

row('types/DatasetTypeOutput', async (t) => {
  t.same(kept.minimum.type, { name: '111', version: '1', category: 'Of odd length' });
});

row('types/datetime', async (t) => {
  const created = String(kept.minimum.created);
  t.equal(new Date(created).toISOString(), created);
});

const CONTACT = { firstName: 'A', lastName: 'B', email: 'a@b.c', affiliation: 'C', country: 'D' };
const ORGANISM = { species: 'P. falciparum', strain: '3D7' };
const STUDY = { projectName: 'P', programName: 'Q' };
const missing = async (body: object): Promise<string[]> => Object.keys(await faults(details(body))).sort();
const CONTACT_FIELDS = Object.keys(CONTACT).map((field) => `contacts[0].${field}`);

row('conditions/1', async (t) => {
  const contacts = [{ middleName: 'M' }];
  const wanted = [...CONTACT_FIELDS].sort();
  t.same(await missing({ contacts }), [], 'a private dataset of another category');
  t.same(await missing({ contacts: [{ ...contacts[0], isPrimary: true }] }), wanted, 'primary');
  for (const visibility of ['public', 'protected', 'controlled'])
    t.same(await missing({ contacts, visibility }), wanted, visibility);
  for (const target of [TARGETS.microbiome, TARGETS['clinical-epidemiology']])
    t.same(
      (await missing({ contacts, installTargets: [target] })).filter((key) => key.startsWith('contacts')),
      wanted,
      target,
    );
  t.same(await missing({ contacts: [{ ...CONTACT, isPrimary: true }], visibility: 'public' }), []);
});

row('conditions/2', async (t) => {
  for (const target of [TARGETS.microbiome, TARGETS['clinical-epidemiology']]) {
    const found = await missing({ installTargets: [target] });
    t.same(
      found.filter((key) => /^pro/.test(key)),
      ['programName', 'projectName'],
      target,
    );
  }
  t.same(await missing({ installTargets: [TARGETS.microbiome], experimentalOrganism: ORGANISM, ...STUDY }), []);
});

row('conditions/3', async (t) => {
  const asks = async (target: string): Promise<boolean> =>
    (await missing({ installTargets: [target] })).includes('experimentalOrganism');
  const answers: Record<string, boolean> = {};
  // One after the other: a user may have only a few uploads under way.
  for (const [category, target] of Object.entries(TARGETS)) answers[category] = await asks(target);
  t.same(answers, {
    other: false,
    second: false,
    genomics: true,
    vector: true,
    microbiome: true,
    'clinical-epidemiology': false,
  });
  t.same(await missing({ installTargets: [TARGETS.genomics], experimentalOrganism: ORGANISM }), []);
});

row('conditions/4', async (t) => {
  const clinic = { installTargets: [TARGETS['clinical-epidemiology']], ...STUDY };
  t.same(await missing(clinic), ['datasetCharacteristics.studyDesign', 'datasetCharacteristics.studyType']);
  t.same(await missing({ ...clinic, datasetCharacteristics: { studyDesign: 'd', studyType: 't' } }), []);
});

const DETAILS: Part = ['details', JSON.stringify(details())];

row('parts/dataFile', async (t) => {
  const zip = await zipOf([{ name: 'genes.txt', text: 'A1\n' }]);
  for (const [name, content, file] of [
    ['dataFile', 'A1\n', 'genes.txt'],
    ['file', 'A1\n', 'genes.txt'],
    ['dataFile', zip, 'genes.zip'],
  ] as const)
    t.equal((await owner.form([DETAILS, [name, content, file]])).status, 202, `${name} ${file}`);
  t.equal(
    (await owner.form([DETAILS, ['dataFile', 'A\n', 'a.txt'], ['dataFile', 'B\n', 'b.txt']])).status,
    202,
    'several',
  );
  t.match(faultsOf(await post(details(), ['dataFile', 'x', 'x.exe'])).dataFile?.[0], /wrong extension/);
});

const remote = await remoteServer(t, (request, response) => {
  if (request.url?.startsWith('/absent')) response.writeHead(403).end();
  else if (request.url?.startsWith('/empty')) response.writeHead(200, { 'content-length': 0 }).end();
  else response.writeHead(200).end('A1\n');
});
const link = (path: string): string => remote.url(path).href;

row('parts/url', async (t) => {
  t.equal((await owner.form([DETAILS, ['url', link('/genes.txt')]])).status, 202);
  t.match(faultsOf(await owner.form([DETAILS, ['url', link('/genes.exe')]])), { url: [/wrong extension/] });
  t.match(faultsOf(await owner.form([DETAILS, ['url', 'ftp://data.example/genes.txt']])), { url: [String] });
});

row('parts/docFile', async (t) => {
  const docs: Part[] = ['a.pdf', 'b.pdf'].map((name) => ['docFile', 'text', name]);
  const id = idOf(await owner.form([DETAILS, FILE, ...docs]));
  t.match((await shown(id)).files, { documents: ['a.pdf', 'b.pdf'].map((fileName) => ({ fileName, fileSize: 4 })) });
});

row('parts/dataPropertiesFile', async (t) => {
  const tables: Part = ['details', JSON.stringify(details({ type: { name: 'tables', version: '1.0' } }))];
  const id = idOf(await owner.form([tables, FILE, ['dataPropertiesFile', 'a\tb\n', 'p.tsv']]));
  t.match((await shown(id)).files, { datasetProperties: [{ fileName: 'p.tsv', fileSize: 4 }] });
  const refused = faultsOf(await post(details(), FILE, ['dataPropertiesFile', 'a\tb\n', 'p.tsv']));
  t.match(refused, { dataPropertiesFile: [/does not use data property files/] });
});

row('parts/file or url', async (t) => {
  for (const parts of [[DETAILS], [DETAILS, FILE, ['url', link('/genes.txt')]]] as const) {
    const answer = await owner.form(parts as readonly Part[]);
    t.match([answer.status, answer.body], [400, { status: 'bad-request', message: /expected exactly one of them/ }]);
  }
});

row('codes/POST /datasets 400', async (t) => {
  t.equal((await owner.form([['details', '{"name":'], FILE])).status, 400);
});

row('codes/POST /datasets 401', async (t) => {
  t.equal((await at.nobody.form([DETAILS, FILE])).status, 401);
});

row('codes/POST /datasets 422', async (t) => {
  t.equal((await post(details({ name: 'ab' }))).status, 422);
});

for (const id of ['codes/POST /datasets 424', 'errors/424'] as const)
  row(id, async (t) => {
    for (const path of ['/absent/genes.txt', '/empty/genes.txt']) {
      const answer = await owner.form([DETAILS, ['url', link(path)]]);
      t.match([answer.status, answer.body], [424, { status: 'failed-dependency', dependency: link(path) }], path);
    }
  });

row('errors/422', async (t) => {
  const { status, body } = await post(details({ name: 'ab', contacts: [{ email: 'x' }] }));
  t.equal(status, 422);
  t.match(body, {
    status: 'invalid-input',
    message: String,
    errors: { general: [], byKey: { name: [String], 'contacts[0].email': [String] } },
  });
});

row('limits/configuration', async (t) => {
  t.match((await owner.get('/service-meta')).body, {
    configuration: { api: { maxUploadSize: MAX_UPLOAD_BYTES, userMaxStorageSize: QUOTA_BYTES } },
  });
  t.equal((await post(details(), ['dataFile', Buffer.alloc(MAX_UPLOAD_BYTES + 1), 'genes.txt'])).status, 400);
  const large: Part = ['dataFile', Buffer.alloc(MAX_TYPE_BYTES + 1, 'A'), 'genes.txt'];
  t.match(faultsOf(await post(details(), large)), {
    dataFile: [`'genes.txt' has ${MAX_TYPE_BYTES + 1} bytes; a file of genes:1.0 may have ${MAX_TYPE_BYTES}`],
  });
  const { friend } = at;
  await ended(at.dir, await friend.upload(details(), 'genes.txt'));
  const left = 9_000;
  await inCache(at.dir, `update dataset set raw_bytes = ${QUOTA_BYTES - left} where owner_id = ${FRIEND}`);
  const both = await Promise.all(
    [1, 2].map(() =>
      friend.form([
        ['details', JSON.stringify(details())],
        ['dataFile', Buffer.alloc(left - 3_000, 'A'), 'genes.txt'],
      ]),
    ),
  );
  t.same(both.map(({ status }) => status).sort(), [202, 400], 'each fits, and not both');
  t.match(both.find(({ status }) => status === 400)?.body, { status: 'bad-request', message: /quota/ });
});

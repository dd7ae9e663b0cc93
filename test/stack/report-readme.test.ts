// The commands of the README about reports, as they stand there, on what `up` starts.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { commandBlock, runCommands } from '../support/command-blocks.ts';
import { freePortBase, tempDir, up } from '../support/longshore.ts';
import { fasta, mutated, randomNumbers, randomResidues } from './blast.ts';

t.test('a database, a search and a report of it by the commands of the README', async (t) => {
  const dir = await tempDir(t);
  const app = await up(t, dir, ['--port-base', String(await freePortBase())]);
  const random = randomNumbers(2);
  const core = randomResidues('nucleotide', 200, random);
  const [subjects, query] = [join(dir, 'subjects.fa'), join(dir, 'query.fa')];
  const sequences = Array.from({ length: 12 }, (_, i) => ({
    title: `s${i}`,
    residues: mutated(core, 0.02, 'nucleotide', random),
  }));
  await writeFile(subjects, fasta(sequences));
  await writeFile(query, fasta([{ title: 'q', residues: core }]));
  const script = commandBlock('report')
    .replaceAll('/tmp/longshore', dir)
    .replaceAll('http://127.0.0.1:8082', app.endpoints.report)
    .replaceAll(' subjects.fa', ` ${subjects}`)
    .replaceAll(' query.fa', ` ${query}`);
  const stdout = await runCommands(script);
  t.match(stdout, /"status":"complete"/);
  t.match(stdout, /\[\{"name":"report\.tsv","size":\d+\},\{"name":"report\.zip","size":\d+\}\]/);
  // The listing before them ends without a new line.
  t.equal([...stdout.matchAll(/q\ts\d+\t/g)].length, 10);
  t.equal(await app.stop(), 0);
});

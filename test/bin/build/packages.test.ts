import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { buildStamp } from '../../../bin/build/packages.ts';

function repository(t: Test): { readonly dir: string; readonly commit: string } {
  const dir = t.testdir();
  const git = (...args: readonly string[]): string =>
    execFileSync('git', args, {
      cwd: dir,
      encoding: 'utf8',
      env: { ...process.env, GIT_COMMITTER_DATE: '1700000000 +0100', GIT_AUTHOR_DATE: '1600000000 +0000' },
    }).trim();
  mkdirSync(join(dir, 'bin'));
  writeFileSync(join(dir, 'bin', 'a.ts'), 'a');
  git('init', '-q');
  git('add', '.');
  git('-c', 'user.name=Test', '-c', 'user.email=test@lab.example', 'commit', '-q', '-m', 'first');
  return { dir, commit: git('rev-parse', 'HEAD') };
}

t.test('a build is dated by its commit', async (t) => {
  const { dir, commit } = repository(t);
  t.strictSame(buildStamp(dir, undefined), { commit, date: '2023-11-14T22:13:20Z' });
});

t.test('SOURCE_DATE_EPOCH comes first', async (t) => {
  const { dir, commit } = repository(t);
  t.strictSame(buildStamp(dir, '86400'), { commit, date: '1970-01-02T00:00:00Z' });
  t.throws(() => buildStamp(dir, 'yesterday'), /SOURCE_DATE_EPOCH is 'yesterday'/);
});

t.test('sources that differ from the commit are told, other files are not', async (t) => {
  const { dir, commit } = repository(t);
  writeFileSync(join(dir, 'notes.txt'), 'of the operator');
  t.equal(buildStamp(dir, undefined).commit, commit);
  writeFileSync(join(dir, 'bin', 'b.ts'), 'b');
  t.equal(buildStamp(dir, undefined).commit, `${commit}-changed`);
});

t.test('without git the date has to be given', async (t) => {
  t.strictSame(buildStamp('/proc', '0'), { commit: 'unknown', date: '1970-01-01T00:00:00Z' });
  t.throws(() => buildStamp('/proc', undefined), /SOURCE_DATE_EPOCH is not set/);
});

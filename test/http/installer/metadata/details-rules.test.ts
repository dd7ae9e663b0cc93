import t from 'tap';
import type { DatasetMetadata, FileEntry } from '../../../../engine/model/metadata.ts';
import { checkFiles } from '../../../../http/installer/metadata/details-rules.ts';
import { Faults } from '../../../../http/kernel/input/faults.ts';
import { dataTypes } from '../installation.ts';

const file = (name: string, size = 10): FileEntry => ({ name, size });

function faultsOf(
  typeName: string,
  data: readonly FileEntry[],
  properties: readonly FileEntry[] = [],
  visibility: DatasetMetadata['visibility'] = 'private',
) {
  const type = dataTypes().find({ name: typeName, version: '1.0' });
  if (!type) throw new Error(`no type ${typeName}`);
  const faults = new Faults();
  checkFiles(type, visibility, { data, properties }, faults);
  return faults.errors().byKey;
}

t.test('accepts the extensions of the type in any case, and one archive', async (t) => {
  for (const names of [['a.txt'], ['a.TXT', 'b.csv'], ['a.zip'], ['a.tar.gz'], ['a.TGZ']])
    t.strictSame(
      faultsOf(
        'genelist',
        names.map((name) => file(name)),
      ),
      {},
      names.join(),
    );
});

t.test('names each data file with a wrong extension and what is allowed', async (t) => {
  t.strictSame(faultsOf('genelist', [file('a.exe')]), {
    dataFile: ["'a.exe' has the wrong extension; genelist:1.0 allows .txt, .csv, .zip, .tar.gz, .tgz"],
  });
  t.strictSame(faultsOf('genelist', [file('a.txt'), file('b'), file('c.gz')]), {
    dataFile: [
      "'b' has the wrong extension; genelist:1.0 allows .txt, .csv",
      "'c.gz' has the wrong extension; genelist:1.0 allows .txt, .csv",
    ],
  });
});

t.test('an archive must come alone, because only then is it unpacked', async (t) => {
  t.strictSame(faultsOf('genelist', [file('a.txt'), file('b.zip')]), {
    dataFile: [
      "'b.zip' has the wrong extension; genelist:1.0 allows .txt, .csv; an archive must be the only data file",
    ],
  });
});

t.test('a type without extensions takes any file', async (t) => {
  t.strictSame(faultsOf('rnaseq', [file('a'), file('b.zip'), file('c.exe')]), {});
});

t.test('refuses an empty data file', async (t) => {
  t.strictSame(faultsOf('genelist', [file('a.txt', 0)]), {
    dataFile: ["'a.txt' is empty; it must have at least one byte"],
  });
});

t.test('a plain file obeys the size limit of its type, an archive is counted when unpacked', async (t) => {
  t.strictSame(faultsOf('genelist', [file('a.txt', 100_000)]), {});
  t.strictSame(faultsOf('genelist', [file('a.txt', 100_001)]), {
    dataFile: ["'a.txt' has 100001 bytes; a file of genelist:1.0 may have 100000"],
  });
  t.strictSame(faultsOf('genelist', [file('a.zip', 100_001)]), {});
  t.strictSame(faultsOf('rnaseq', [file('a.zip', 100_001), file('b.txt', 1)]), {
    dataFile: ["'a.zip' has 100001 bytes; a file of rnaseq:1.0 may have 100000"],
  });
});

t.test('property files are refused where the type does not use them', async (t) => {
  t.strictSame(faultsOf('genelist', [file('a.txt')], [file('p.tsv')]), {
    dataPropertiesFile: ['is given, but genelist:1.0 does not use data property files'],
  });
});

t.test('property files are required of a dataset that others can see', async (t) => {
  t.strictSame(faultsOf('rnaseq', [file('a')], [], 'private'), {});
  t.strictSame(faultsOf('rnaseq', [file('a')], [], 'protected'), {
    dataPropertiesFile: ['is missing; a protected dataset of rnaseq:1.0 needs one'],
  });
  t.strictSame(faultsOf('rnaseq', [file('a')], [file('p.tsv')], 'public'), {});
});

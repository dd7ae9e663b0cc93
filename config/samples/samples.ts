// The sample plugins by the name of their dataset type. A plugin is loaded only when one of its scripts runs.

import type { SamplePlugin } from './sample.ts';

export const SAMPLE_NAMES = ['genelist', 'isasimple', 'biom', 'rnaseq', 'lightweight'] as const;
export type SampleName = (typeof SAMPLE_NAMES)[number];

interface Sample {
  readonly version: '1.0';
  /** Display name of the type. */
  readonly category: string;
  /** Empty = any. */
  readonly allowedFileExtensions: readonly string[];
  readonly usesDataProperties: boolean;
  readonly load: () => Promise<SamplePlugin>;
}

export const SAMPLES: Readonly<Record<SampleName, Sample>> = {
  genelist: {
    version: '1.0',
    category: 'Gene List',
    allowedFileExtensions: [],
    usesDataProperties: false,
    load: async () => (await import('./genelist.ts')).genelist,
  },
  isasimple: {
    version: '1.0',
    category: 'ISA Study',
    allowedFileExtensions: [],
    usesDataProperties: false,
    load: async () => (await import('./isasimple.ts')).isasimple,
  },
  biom: {
    version: '1.0',
    category: 'BIOM',
    allowedFileExtensions: [],
    usesDataProperties: false,
    load: async () => (await import('./biom.ts')).biom,
  },
  rnaseq: {
    version: '1.0',
    category: 'RNA-Seq',
    allowedFileExtensions: ['.tabular', '.txt', '.tsv', '.bw', '.bigwig'],
    usesDataProperties: false,
    load: async () => (await import('./rnaseq.ts')).rnaseq,
  },
  lightweight: {
    version: '1.0',
    category: 'Lightweight',
    allowedFileExtensions: [],
    usesDataProperties: false,
    load: async () => (await import('./lightweight.ts')).lightweight,
  },
};

export const isSampleName = (text: string): text is SampleName => (SAMPLE_NAMES as readonly string[]).includes(text);

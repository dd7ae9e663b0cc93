// The server's faults, beside the fields of a form. A field is named by its path in the request, as the faults name it.

import { texts } from '../texts.ts';

export type Faults = Readonly<Record<string, readonly string[]>>;

/** The faults of the field and of what is in it. The server's sentences go on after the name of the field. */
export const faultsAt = (faults: Faults, path: string): readonly string[] =>
  Object.entries(faults)
    .filter(([key]) => isAt(key, path))
    .flatMap(([, sentences]) => sentences)
    .map((sentence) => (/^(is|has|holds|excludes) /.test(sentence) ? texts.problem.ofField(sentence) : sentence));

/** Those of fields that the form does not have. */
export const faultsElsewhere = (faults: Faults, shown: readonly string[]): readonly string[] =>
  Object.entries(faults)
    .filter(([key]) => !shown.some((path) => isAt(key, path)))
    .flatMap(([key, sentences]) => sentences.map((sentence) => `${key} ${sentence}`));

const isAt = (key: string, path: string): boolean =>
  key === path || key.startsWith(`${path}.`) || key.startsWith(`${path}[`);

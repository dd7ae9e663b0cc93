// Collects the faults of a request's input, so that all of them are reported at once (docs/contract/installer.md#errors).

import { type HttpError, type InputErrors, invalidInput } from '../pipeline/errors.ts';

export type FieldPath = readonly (string | number)[];

/** Most faults that are reported. Otherwise a body full of faults would cause an even larger response. */
const MAX_FAULTS = 200;
const MAX_STEP_CHARACTERS = 100;

/** Where checks add the faults that they find. */
export type FaultSink = Pick<Faults, 'add' | 'touches'>;

export class Faults {
  readonly #general: string[] = [];
  readonly #byKey = new Map<string, string[]>();
  readonly #touched = new Set<string>();
  readonly #renamed: ReadonlyMap<string, string>;
  #count = 0;

  /** @param renamed top-level fields whose names differ for the caller: our name to the caller's */
  constructor(renamed: ReadonlyMap<string, string> = new Map()) {
    this.#renamed = renamed;
  }

  /** Adds a sentence that continues the field's name: 'is missing; ...', 'has 2 characters; ...'. */
  add(path: FieldPath, sentence: string): void {
    const [first, ...rest] = path;
    if (first !== undefined) this.#touched.add(String(first));
    if (++this.#count > MAX_FAULTS) return;
    if (first === undefined) {
      this.#general.push(sentence);
      return;
    }
    const key = formatPath([this.#renamed.get(String(first)) ?? first, ...rest]);
    const sentences = this.#byKey.get(key);
    if (!sentences) this.#byKey.set(key, [sentence]);
    else if (!sentences.includes(sentence)) sentences.push(sentence);
  }

  get empty(): boolean {
    return this.#count === 0;
  }

  /** True when the top-level field, or anything below it, has a fault. */
  touches(field: string): boolean {
    return this.#touched.has(field);
  }

  throwIfAny(): void {
    if (!this.empty) throw this.refusal();
  }

  /** The 422 with all faults. */
  refusal(): HttpError {
    return invalidInput('the request holds values that are not accepted; see errors', this.errors());
  }

  errors(): InputErrors {
    const unsaid = this.#count - MAX_FAULTS;
    const general = unsaid > 0 ? [...this.#general, `${unsaid} more faults are not listed`] : [...this.#general];
    return { general, byKey: Object.fromEntries(this.#byKey) };
  }
}

/** Formats `['contacts', 0, 'email']` as `contacts[0].email`. */
export function formatPath(path: FieldPath): string {
  return path
    .map((step, i) =>
      typeof step === 'number' ? `[${step}]` : `${i === 0 ? '' : '.'}${step.slice(0, MAX_STEP_CHARACTERS)}`,
    )
    .join('');
}

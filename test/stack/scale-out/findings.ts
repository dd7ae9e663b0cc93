// Facts that a run has shown or missed, printed as they come and counted.

/** Of what is wrong, so many are printed. */
const SHOWN = 10;

export class Findings {
  passed = 0;
  failed = 0;

  /** Holds when nothing is wrong. */
  none(fact: string, wrong: readonly string[]): void {
    this.#say(fact, wrong.length === 0, wrong);
  }

  holds(fact: string, is: boolean, otherwise = ''): void {
    this.#say(fact, is, otherwise === '' ? [] : [otherwise]);
  }

  #say(fact: string, is: boolean, wrong: readonly string[]): void {
    if (is) this.passed++;
    else this.failed++;
    console.log(`${is ? 'ok  ' : 'FAIL'} ${fact}${is ? '' : ` (${wrong.length})`}`);
    if (!is) for (const line of wrong.slice(0, SHOWN)) console.log(`       ${line}`);
  }
}

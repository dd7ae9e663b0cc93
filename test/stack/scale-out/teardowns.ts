// What is to be undone at the end of a run, last first; the services of the stack register themselves here.

export class Teardowns implements AsyncDisposable {
  readonly #undo: (() => unknown)[] = [];

  teardown(fn: () => unknown): void {
    this.#undo.push(fn);
  }

  /** All of them, whatever some of them throw; the first error is thrown in the end. */
  async [Symbol.asyncDispose](): Promise<void> {
    const errors: unknown[] = [];
    for (let undo = this.#undo.pop(); undo; undo = this.#undo.pop())
      try {
        await undo();
      } catch (error) {
        errors.push(error);
      }
    if (errors.length > 0) throw errors[0];
  }
}

import { UserError } from '../problems/user-error.ts';

/** The approximate number of bytes of memory of a JSON value, in addition to its text. An empty list has two bytes of text. */
const BYTES_PER_VALUE = 32;
/** The bytes of `,`, `[` and `{`, which precede values. */
const [COMMA, BRACKET, BRACE] = [0x2c, 0x5b, 0x7b];

/** Limits the memory for the responses of one run, for a platform that is not trusted. */
export class ResponseBudget {
  readonly #max: number;
  #used = 0;

  /** @param max in bytes. */
  constructor(max: number) {
    this.#max = max;
  }

  get remaining(): number {
    return this.#max - this.#used;
  }

  addBytes(bytes: number): void {
    this.#used += bytes;
  }

  /** Counts the values of a response before it is parsed. Its bytes must already have been added. @throws UserError if the budget is exceeded. */
  addValues(body: Buffer): void {
    let values = 0;
    // Those inside strings count too. An iterator would be many times slower.
    for (let index = 0; index < body.length; index++) {
      const byte = body[index];
      if (byte === COMMA || byte === BRACKET || byte === BRACE) values++;
    }
    this.addBytes(values * BYTES_PER_VALUE);
    this.check();
  }

  /** @throws UserError if the budget is exceeded. */
  check(): void {
    if (this.#used <= this.#max) return;
    throw new UserError(
      `the responses of the platform need more than ${this.#max} bytes in one run, the limit of the fleet`,
      {
        hint: 'Raise limits.characters in the fleet file, or find out why the platform sends this much.',
      },
    );
  }
}

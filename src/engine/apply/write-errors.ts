import type { Address } from '../../manifests/resource.ts';
import { UserError, type UserErrorOptions } from '../../problems/user-error.ts';
import { references, type Value } from '../../values/value.ts';

/** Something that the resource refers to has no record. */
export class MissingReference extends Error {
  override readonly name = 'MissingReference';
  readonly address: Address;

  constructor(value: Value) {
    const address = references(value).next().value?.address ?? '';
    super(`${address} has no record`);
    this.address = address;
  }
}

/** The platform has a record whose id could not be saved in the state: the user must write it down. */
export class UnsavedRecord extends UserError {
  override readonly name = 'UnsavedRecord';

  constructor(address: Address, id: string, { cause }: { readonly cause: unknown }) {
    super(`${address} exists as ${id}, but the state could not be written`, {
      next: [{ action: 'import', address, id, reason: 'unsaved' }],
      cause,
    });
  }
}

/** The intent of a write could not be stored, so no request was sent. */
export class UnrecordedIntent extends Error {
  override readonly name = 'UnrecordedIntent';
}

/** The answer to a write names a record that it cannot be about, so that nothing in it is believed. */
export class UnexpectedAnswer extends UserError {
  override readonly name = 'UnexpectedAnswer';

  constructor(address: Address, problem: string, help: Pick<UserErrorOptions, 'hint' | 'next'>) {
    super(`invalid response for ${address}: ${problem}`, help);
  }
}

import { didYouMean } from '../problems/suggest.ts';
import { advice, command, misuse, type UserError } from '../problems/user-error.ts';

/** The error for an address that the state does not have, with the nearest one that it has. */
export function unknownInState(address: string, known: Iterable<string>): UserError {
  return misuse(
    `the state has no ${address}${didYouMean(address, known)}`,
    advice`Run ${command('state list')} to list its addresses.`,
  );
}

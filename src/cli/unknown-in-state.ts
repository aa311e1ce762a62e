import { didYouMean } from '../problems/suggest.ts';
import { ExitCode, UserError } from '../problems/user-error.ts';

/** The error for an address that the state does not know, with the nearest of those that would have done. */
export function unknownInState(address: string, known: Iterable<string>): UserError {
  return new UserError(`the state has no ${address}${didYouMean(address, known)}`, {
    hint: 'Run voxform state list to list its addresses.',
    exitCode: ExitCode.usage,
  });
}

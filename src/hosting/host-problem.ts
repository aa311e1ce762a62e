import { UserError, type UserErrorOptions } from '../problems/user-error.ts';

/** Why a host did not do what it was asked. */
type HostTrouble =
  | { readonly why: 'refused'; readonly status: number }
  /** The answer was lost: it may be done. */
  | { readonly why: 'unclear' }
  /** It cannot be reached, or answers nothing but errors. */
  | { readonly why: 'unreachable' }
  /** It limits requests for longer than there is patience. */
  | { readonly why: 'limited'; readonly until: Date };

export class HostProblem extends UserError {
  override readonly name: string = 'HostProblem';
  readonly trouble: HostTrouble;

  constructor(message: string, trouble: HostTrouble, options: UserErrorOptions = {}) {
    super(message, options);
    this.trouble = trouble;
  }
}

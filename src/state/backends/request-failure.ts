import type { AttemptResult } from '../../platform/exchange.ts';
import { failureWords } from '../../platform/failure.ts';
import { isClosedLocalPort, isLasting } from '../../platform/retry.ts';
import type { Network } from '../../platform/web-client.ts';
import { errorCode } from '../../problems/error-code.ts';
import { UserError } from '../../problems/user-error.ts';

interface FailedRequest {
  /** Location of the state for messages. */
  readonly location: string;
  /** The setting with the address. */
  readonly setting: string;
  readonly host: string;
  readonly network: Network;
  readonly timeoutSeconds: number;
  readonly maxBodyBytes: number;
  /** True if the server has answered before. */
  readonly hasAnswered: boolean;
  redact(text: string): string;
}

/** A request to the server of a state without an answer: a UserError if another attempt cannot help. */
export function requestFailure(result: AttemptResult & { type: 'failure' }, request: FailedRequest): Error {
  const { location, setting, host, network, hasAnswered, ...limits } = request;
  const why = failureWords({ host, proxy: network.proxy, ...limits }, result);
  const code = errorCode(result.error);
  const isPermanent =
    isLasting(result.error) || (!hasAnswered && (code === 'ENOTFOUND' || isClosedLocalPort(host, result)));
  return isPermanent
    ? new UserError(`cannot reach the state ${location}: ${why}`, {
        ...(code === 'ENOTFOUND' && { hint: `Correct the host in ${setting}.` }),
      })
    : new Error(why);
}

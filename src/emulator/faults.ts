import { z } from 'zod';
import { attempt } from '../problems/attempt.ts';
import type { Immutable } from '../values/json.ts';

/** A received request, without headers. `body` is present only for a JSON body, in which provider keys are replaced. */
export interface ReceivedRequest {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly body?: unknown;
}

/** A fault to inject. All faults except `status` and `cut: before` occur after the request was handled. */
const fault = z.union([
  z.strictObject({
    status: z.int().min(200).max(599),
    headers: z.record(z.string(), z.string()).optional(),
    /** A string is sent unchanged, any other value as JSON. */
    body: z.json().optional(),
    /** True to handle the request too, as if a gateway had timed out. */
    commit: z.boolean().optional(),
  }),
  /** Closes the connection without a response, before or after the request is handled. */
  z.strictObject({ cut: z.enum(['before', 'after']) }),
  /** Sends the body in chunks of 16 bytes, with a pause of this many milliseconds before each chunk. */
  z.strictObject({ drip: z.number().min(0) }),
  /** Closes the connection after this many bytes of the body. */
  z.strictObject({ truncate: z.int().min(0) }),
  /** Delays the response by this many milliseconds. */
  z.strictObject({ delayMs: z.number().min(0) }),
  /** Sends the status and the headers, but no body. */
  z.strictObject({ emptyBody: z.literal(true) }),
]);

export const plannedFault = z.strictObject({
  match: z
    .strictObject({
      method: z.string().optional(),
      path: z.string().optional(),
      /** A regular expression that the path, including its query, must match. */
      pattern: z
        .string()
        .refine((text) => attempt(() => new RegExp(text)) !== undefined, {
          error: 'expected a regular expression',
        })
        .optional(),
    })
    .default({}),
  times: z.int().min(1).default(1),
  fault,
});

export type Fault = Immutable<z.infer<typeof fault>>;
export type PlannedFault = Immutable<z.input<typeof plannedFault>>;

interface Pending {
  readonly plan: Immutable<z.output<typeof plannedFault>>;
  remaining: number;
}

/** The pending faults. Each request gets at most one fault: the first match in the order of addition. */
export class Faults {
  #pending: Pending[] = [];

  /** Throws a ZodError for an invalid plan. */
  add(planned: PlannedFault): void {
    const plan = plannedFault.parse(planned);
    this.#pending.push({ plan, remaining: plan.times });
  }

  clear(): void {
    this.#pending = [];
  }

  get pending(): readonly PlannedFault[] {
    return this.#pending.map(({ plan, remaining }) => ({ ...plan, times: remaining }));
  }

  take(request: ReceivedRequest): Fault | undefined {
    const found = this.#pending.find(({ plan }) => isMatch(plan.match, request));
    if (found === undefined) return undefined;
    found.remaining -= 1;
    if (found.remaining === 0) this.#pending = this.#pending.filter((pending) => pending !== found);
    return found.plan.fault;
  }
}

function isMatch({ method, path, pattern }: Pending['plan']['match'], request: ReceivedRequest): boolean {
  return (
    (method === undefined || method.toUpperCase() === request.method) &&
    (path === undefined || request.path.startsWith(path)) &&
    (pattern === undefined || new RegExp(pattern).test(request.path))
  );
}

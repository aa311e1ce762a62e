import { z } from 'zod';
import { attempt } from '../problems/attempt.ts';
import type { Immutable } from '../values/json.ts';

/** A received request, without headers. The body is present only if it was JSON. Provider keys in it are replaced. */
export interface ReceivedRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly body?: unknown;
}

/** A fault of a request. All except `status` and `cut: before` occur after the request was handled. */
const fault = z.union([
  z.strictObject({
    status: z.int().min(200).max(599),
    headers: z.record(z.string(), z.string()).optional(),
    /** Sent unchanged if it is a string, otherwise as JSON. */
    body: z.json().optional(),
    /** Also handles the request, as if a gateway had timed out. */
    commit: z.boolean().optional(),
  }),
  /** Breaks the connection without a response, before the request is handled or after. */
  z.strictObject({ cut: z.enum(['before', 'after']) }),
  /** Sends the body in pieces of 16 bytes, this many milliseconds apart. */
  z.strictObject({ drip: z.number().min(0) }),
  /** Breaks the connection after this many bytes of the body. */
  z.strictObject({ truncate: z.int().min(0) }),
  /** Delays the finished response. */
  z.strictObject({ delayMs: z.number().min(0) }),
  /** Sends the status and the headers, but no body. */
  z.strictObject({ emptyBody: z.literal(true) }),
]);

export const plannedFault = z.strictObject({
  match: z
    .strictObject({
      method: z.string().optional(),
      path: z.string().optional(),
      /** Regular expression that the path with its query must match. */
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
  left: number;
}

/** Pending faults. Each request gets at most one: the first that matches, in the order they were added. */
export class Faults {
  #pending: Pending[] = [];

  /** Throws a ZodError for an invalid plan. */
  add(planned: PlannedFault): void {
    const plan = plannedFault.parse(planned);
    this.#pending.push({ plan, left: plan.times });
  }

  clear(): void {
    this.#pending = [];
  }

  get pending(): readonly PlannedFault[] {
    return this.#pending.map(({ plan, left }) => ({ ...plan, times: left }));
  }

  take(request: ReceivedRequest): Fault | undefined {
    const found = this.#pending.find(({ plan }) => isMatch(plan.match, request));
    if (found === undefined) return undefined;
    found.left -= 1;
    if (found.left === 0) this.#pending = this.#pending.filter((pending) => pending !== found);
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

import type { IncomingMessage, ServerResponse } from 'node:http';
import { isObject, setOwn } from '../values/json.ts';
import { type BehaviourPatch, type EmulatorBehaviour, emulatorBehaviour } from './behaviour.ts';
import { Faults, type ReceivedRequest } from './faults.ts';
import type { World } from './world.ts';

/** The maximum number of kept requests: an emulator may run for days. */
const MOST_KEPT = 200_000;

/** The state behind the routes. They read the behaviour for each request, because it may change at any time. */
export class Emulated {
  readonly world: World;
  readonly faults = new Faults();
  behaviour: EmulatorBehaviour;
  /** The requests to the API, without those to the dashboard, oldest first. */
  requests: ReceivedRequest[] = [];

  constructor(world: World, behaviour: BehaviourPatch = {}) {
    this.world = world;
    this.behaviour = emulatorBehaviour.parse(behaviour);
  }

  /** Applies a merge patch to the behaviour. Throws a ZodError for an invalid one. */
  setBehaviour(patch: BehaviourPatch): EmulatorBehaviour {
    this.behaviour = emulatorBehaviour.parse(mergePatch(this.behaviour, patch));
    return this.behaviour;
  }

  note(request: ReceivedRequest): void {
    if (this.requests.length >= MOST_KEPT) this.requests = this.requests.slice(MOST_KEPT / 2);
    this.requests.push(request);
  }
}

/** The body of a request: none, JSON, or why it is refused. */
export type ReceivedBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'wrong-type' | 'not-json' | 'too-large' };

export interface EmulatorEnv {
  Bindings: {
    readonly incoming: IncomingMessage;
    readonly outgoing: ServerResponse;
    readonly body: ReceivedBody;
  };
}

/** The value after a JSON merge patch (RFC 7396). Undefined keys change nothing. */
export function mergePatch(value: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: Record<string, unknown> = isObject(value) ? { ...value } : {};
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) delete merged[key];
    else if (change !== undefined) {
      setOwn(merged, key, mergePatch(Object.hasOwn(merged, key) ? merged[key] : undefined, change));
    }
  }
  return merged;
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type BehaviourPatch, type EmulatorBehaviour, emulatorBehaviour } from './behaviour.ts';
import { Faults, type ReceivedRequest } from './faults.ts';
import { mergePatch } from './merge-patch.ts';
import type { ReceivedBody } from './received-body.ts';
import type { World } from './world.ts';

/** Beyond this the oldest requests are dropped: an emulator may run for days. */
const MOST_KEPT = 200_000;

/** What the routes work on. The behaviour is looked up at each request: it may change between two. */
export class Emulated {
  readonly world: World;
  readonly faults = new Faults();
  behaviour: EmulatorBehaviour;
  /** The requests to the API, oldest first; those to the dashboard are not among them. */
  requests: ReceivedRequest[] = [];

  constructor(world: World, behaviour: BehaviourPatch = {}) {
    this.world = world;
    this.behaviour = emulatorBehaviour.parse(behaviour);
  }

  /** Lays a merge patch over the behaviour; throws a ZodError for one that does not fit. */
  setBehaviour(patch: BehaviourPatch): EmulatorBehaviour {
    this.behaviour = emulatorBehaviour.parse(mergePatch(this.behaviour, patch));
    return this.behaviour;
  }

  note(request: ReceivedRequest): void {
    if (this.requests.length >= MOST_KEPT) this.requests = this.requests.slice(MOST_KEPT / 2);
    this.requests.push(request);
  }
}

export interface EmulatorEnv {
  Bindings: {
    readonly incoming: IncomingMessage;
    readonly outgoing: ServerResponse;
    readonly body: ReceivedBody;
  };
}

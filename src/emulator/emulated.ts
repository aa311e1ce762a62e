import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EmulatorBehaviour } from './behaviour.ts';
import type { ReceivedBody } from './received-body.ts';
import type { World } from './world.ts';

/** What the routes work on. The behaviour is looked up at each request: it may change between two. */
export interface Emulated {
  readonly world: World;
  behaviour: EmulatorBehaviour;
}

export interface EmulatorEnv {
  Bindings: {
    readonly incoming: IncomingMessage;
    readonly outgoing: ServerResponse;
    readonly body: ReceivedBody;
  };
}

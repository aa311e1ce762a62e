import { Hono } from 'hono';
import { numberRequest } from '../../platform/records.ts';
import type { Emulated, EmulatorEnv } from '../emulated.ts';
import { offsetTime } from '../ids-and-clock.ts';
import { trimmed } from '../normalising.ts';
import { seenByKey } from '../other-workspace.ts';
import { type PagedList, pageOf } from '../pagination.ts';
import { invalid } from '../refusal.ts';
import { bodyOf, checked, pageRequestOf } from '../request-checks.ts';
import type { StoredNumber } from '../stored-records.ts';
import { digitsOf, showNumber } from '../views.ts';

const listing: PagedList<StoredNumber> = { name: 'numbers', key: ({ id }) => id, order: 'ascending' };

export function numberRoutes(emulated: Emulated): Hono<EmulatorEnv> {
  return new Hono<EmulatorEnv>()
    .get('/numbers', (c) => {
      const { world, behaviour } = emulated;
      const { data, meta } = pageOf(
        seenByKey(
          world.numbers.values().filter(({ id }) => !world.isHidden(id)),
          emulated,
        ),
        listing,
        {
          request: pageRequestOf(c),
          behaviour,
        },
      );
      return c.json({ data: data.map((number) => showNumber(number, behaviour)), meta });
    })
    .post('/numbers', (c) => {
      const { world, behaviour } = emulated;
      const body = checked(numberRequest, trimmed(bodyOf(c), behaviour.normalise));
      if (behaviour.uniqueNumbers && isTaken(emulated, body.number)) {
        throw invalid([{ field: 'number', message: 'The number has already been taken' }]);
      }
      const now = offsetTime(world.beginWrite());
      const number: StoredNumber = {
        id: world.newId(),
        number: body.number,
        nickname: body.nickname ?? body.number,
        inbound_agent_id: null,
        outbound_agent_id: null,
        telephony_trunk_id: `ST_${world.sequence.randomText()}`,
        telephony_dispatch_id: `SDR_${world.sequence.randomText()}`,
        workspace_id: world.workspaceId,
        created_at: now,
        updated_at: now,
      };
      world.numbers.set(number.id, number);
      world.showLater(number.id, behaviour.showsNewAfterReads);
      return c.json({ data: showNumber(number, behaviour) }, 201);
    });
}

function isTaken({ world }: Emulated, number: string): boolean {
  const digits = digitsOf(number);
  return world.numbers.values().some((other) => digitsOf(other.number) === digits);
}

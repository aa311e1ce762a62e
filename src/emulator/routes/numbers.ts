import type { Hono } from 'hono';
import { numberRequest } from '../../platform/records/number-records.ts';
import type { Emulated, EmulatorEnv } from '../emulated.ts';
import { offsetTime } from '../ids-and-clock.ts';
import { pagedById, seenByKey, withNameless } from '../pagination.ts';
import { invalid } from '../refusal.ts';
import { pageIn, writtenBody } from '../request-checks.ts';
import type { StoredNumber } from '../stored-records.ts';
import { digitsOf, showNumber } from '../views.ts';

const listing = pagedById('numbers');

export function numberRoutes(api: Hono<EmulatorEnv>, emulated: Emulated): void {
  const { world } = emulated;
  api.get('/numbers', (c) => {
    const shown = seenByKey(
      world.numbers.values().filter(({ id }) => !world.isHidden(id)),
      emulated,
    ).map((number) => showNumber(number, emulated.behaviour));
    return c.json(pageIn(c, listing, { items: withNameless(shown, 'number', emulated), emulated }));
  });
  api.post('/numbers', (c) => {
    const { behaviour } = emulated;
    const body = writtenBody(c, numberRequest(), behaviour);
    const digits = digitsOf(body.number);
    const isTaken = world.numbers.values().some(({ number }) => digitsOf(number) === digits);
    if (behaviour.uniqueNumbers && isTaken) {
      throw invalid([{ field: 'number', message: 'The number has already been taken' }]);
    }
    const number: StoredNumber = {
      ...world.newRecord(offsetTime),
      number: body.number,
      nickname: body.nickname ?? body.number,
      inbound_agent_id: null,
      outbound_agent_id: null,
      telephony_trunk_id: `ST_${world.sequence.randomText()}`,
      telephony_dispatch_id: `SDR_${world.sequence.randomText()}`,
    };
    world.numbers.set(number.id, number);
    world.showLater(number.id, behaviour.showsNewAfterReads);
    return c.json({ data: showNumber(number, behaviour) }, 201);
  });
}

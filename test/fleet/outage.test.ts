import { connect, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { listenTcp } from '../platform/listen.ts';
import { testFleet } from './test-fleet.ts';

const APPLY = 'workspaces: { "*": { mode: apply, interval: 1h } }';

it('is not ready while the database cannot be reached, says so, and goes on when it is back', async () => {
  let target = 0;
  let isDown = false;
  const sockets = new Set<Socket>();
  const { port } = await listenTcp((socket) => {
    if (isDown) {
      socket.destroy();
      return;
    }
    const there = connect(target, '127.0.0.1');
    there.on('error', () => socket.destroy());
    there.on('close', () => socket.destroy());
    socket.on('close', () => there.destroy());
    socket.pipe(there).pipe(socket);
    sockets.add(socket);
  });
  const cut = (): void => {
    isDown = true;
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(cut);
  const fleet = await testFleet({
    projects: ['acme'],
    rules: APPLY,
    url(pg) {
      target = Number(new URL(pg.url).port);
      return pg.urlWith({ port });
    },
  });
  const server = await fleet.server({ timing: { tick: 50, beat: 100, heartbeat: 10_000 } });
  await fleet.until(async () => (await fleet.status('voices/acme:test')) === 'in-sync');
  cut();
  await fleet.until(() => !server.isReady);
  expect(server.isAlive).toBe(true);
  isDown = false;
  await fleet.until(() => server.isReady);
  await fleet.write('acme', 'Two.');
  await fleet.until(() => fleet.told.some(({ report }) => report?.applied[0]?.action === 'update'));
  const said = fleet.log.filter((line) => line.includes('database'));
  expect(said.at(-1)).toBe('info the database can be used again');
  expect(said.filter((line) => line.startsWith('error cannot use the database')).length).toBeGreaterThan(0);
});

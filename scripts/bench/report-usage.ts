/*
 * Loaded before a program that runs on: tells its parent its resident memory, in kilobytes, and its processor time, in microseconds,
 * when asked.
 */

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ kilobytes: process.memoryUsage.rss() / 1024, microseconds: user + system });
});
process.channel?.unref();

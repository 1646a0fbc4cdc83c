import { spawn } from 'node:child_process';
import { command, type Call } from '../command/spec.ts';
import { print, reach } from '../reach.ts';

export const dashboard = command({
  name: 'dashboard',
  group: 'Work',
  summary: 'opens the dashboard in a browser: what every agent does, and what waits for you',
  usage: '',
  about: `The address that is opened lets one browser in, once, within a minute; it holds no lasting secret. A browser that was
let in stays so for two weeks after its last visit. Where no browser can be started, the address is printed.`,
  options: { print: { type: 'boolean', means: 'only print the address' } },
  json: '{ url, opened }: the address counts once, within a minute.',
  async run(call) {
    const client = await reach(call);
    const { daemonStatus } = await import('@reveille/daemon/connect');
    const status = await daemonStatus({ env: call.io.env });
    if (status.state !== 'running') throw new Error(`the daemon ended just now: ${status.why}`);
    const url = `${status.url}/dashboard/#ticket=${await client.pageTicket()}`;
    const opened = !call.options['print'] && (await open(call, url));
    print(call, { url, opened }, () => [
      opened
        ? 'Opened in your browser.'
        : `Open this address within a minute; it lets one browser in:\n${url}`,
    ]);
  },
});

/** Whether the system's own way to open an address took it. */
function open({ io }: Pick<Call, 'io'>, url: string): Promise<boolean> {
  const hasScreen = process.platform !== 'linux' || Boolean(io.env['DISPLAY'] ?? io.env['WAYLAND_DISPLAY']);
  if (!hasScreen) return Promise.resolve(false);
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open';
  return new Promise((resolve) => {
    const child = spawn(program, [url], { env: io.env, stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
    // Some stay until the browser is closed.
    setTimeout(() => resolve(true), 3_000).unref();
    child.unref();
  });
}

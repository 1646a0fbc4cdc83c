import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** How the system is told to run the daemon: a file, in the form and at the place of its service manager. */
export interface Service {
  readonly manager: 'systemd' | 'launchd';
  readonly path: string;
  readonly text: string;
  /** What the person runs so that the system starts the daemon, now and at every login. */
  readonly enable: string;
}

const UNIT = 'reveille.service';
const LABEL = 'dev.reveille.daemon';

/** Settings and places that the daemon would have if a command started it now. Keys of models stay out of files. */
const PASSED_ON = /^(?:PATH|XDG_STATE_HOME|XDG_CONFIG_HOME|REVEILLE_\w+)$/;

/** Null: on this system there is no service manager that we know. */
export function serviceOf(
  env: Readonly<Record<string, string | undefined>>,
  { platform, program }: { readonly platform: NodeJS.Platform; readonly program: readonly string[] },
): Service | null {
  const home = env['HOME'] ?? homedir();
  const passed = Object.entries(env).filter(
    (pair): pair is [string, string] => PASSED_ON.test(pair[0]) && pair[1] !== undefined,
  );
  if (platform === 'linux') {
    const config = env['XDG_CONFIG_HOME'];
    const base = config && isAbsolute(config) ? config : join(home, '.config');
    const text = systemdUnit([...program, '--supervised-by', 'systemd'], passed);
    const enable = `systemctl --user enable --now ${UNIT}`;
    return { manager: 'systemd', path: join(base, 'systemd/user', UNIT), text, enable };
  }
  if (platform !== 'darwin') return null;
  const path = join(home, 'Library/LaunchAgents', `${LABEL}.plist`);
  const text = launchdItem([...program, '--supervised-by', 'launchd'], passed);
  return { manager: 'launchd', path, text, enable: `launchctl bootstrap gui/$(id -u) '${path}'` };
}

/** Exit code 78: no start can succeed before a person has done something. */
const systemdUnit = (command: readonly string[], env: readonly (readonly [string, string])[]): string =>
  `# Written by \`reveille daemon install\`; \`reveille daemon uninstall\` removes it.
[Unit]
Description=Reveille daemon
StartLimitIntervalSec=0

[Service]
ExecStart=${command.map((word) => unitWord(word).replaceAll('$', '$$$$')).join(' ')}
${env.map(([name, value]) => `Environment=${unitWord(`${name}=${value}`)}`).join('\n')}
Restart=on-failure
RestartPreventExitStatus=78
RestartSec=1
RestartSteps=6
RestartMaxDelaySec=60
KillMode=mixed
TimeoutStopSec=30

[Install]
WantedBy=default.target
`;

const unitWord = (text: string): string =>
  `"${text.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('%', '%%')}"`;

const launchdItem = (command: readonly string[], env: readonly (readonly [string, string])[]): string =>
  `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by "reveille daemon install"; "reveille daemon uninstall" removes it. -->
<plist version="1.0">
<dict>
  <key>Label</key><string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${command.map((word) => `    <string>${xml(word)}</string>`).join('\n')}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${env.map(([name, value]) => `    <key>${xml(name)}</key><string>${xml(value)}</string>`).join('\n')}
  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ThrottleInterval</key><integer>10</integer>
</dict>
</plist>
`;

const XML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
const xml = (text: string): string => text.replaceAll(/[&<>]/g, (found) => XML[found] ?? found);

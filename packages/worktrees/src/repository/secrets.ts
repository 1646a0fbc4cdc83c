import { homedir } from 'node:os';
import { join } from 'node:path';
import { overlapping, realPathOf } from './paths.ts';

/** Files and folders below the home that hold credentials, or that are private to the person. */
const IN_HOME = `
  .ssh .gnupg .password-store .local/share/keyrings .local/share/kwalletd .pki .cert
  .aws .azure .kube .docker .oci .config/gcloud .config/doctl .config/linode-cli .config/hcloud .config/scaleway
  .boto .s3cfg .config/rclone .rclone.conf .config/containers .config/heroku .fly .config/flyctl .vercel .config/netlify
  .terraform.d .terraformrc .vault-token .config/sops .config/age .ansible .chef .config/helm .config/pulumi .pulumi
  .netrc _netrc .authinfo .authinfo.gpg .git-credentials .config/git .config/gh .config/glab-cli .config/hub
  .npmrc .yarnrc .yarnrc.yml .config/pnpm .pypirc .config/pip .pip .m2 .gradle/gradle.properties .ivy2/.credentials .sbt/.credentials .nuget/NuGet .config/NuGet .bundle/config
  .cargo/credentials .cargo/credentials.toml .gem/credentials .composer/auth.json .config/composer .hex .cabal/config
  .pgpass .my.cnf .mylogin.cnf .mongorc.js .dbshell .psqlrc .config/pgcli .snowsql .databrickscfg .dbt .kaggle
  .cache/huggingface/token .huggingface .config/op .config/1Password .config/Bitwarden .config/keepassxc .config/lastpass
  .config/reveille .local/state/reveille
  .mozilla .thunderbird .config/google-chrome .config/chromium .config/BraveSoftware .config/microsoft-edge .config/vivaldi
  .config/opera .local/share/qutebrowser .config/Slack .config/discord .config/Signal .config/Code .config/Cursor
  .claude .claude.json .codex .gemini .copilot .config/github-copilot .config/opencode .local/share/opencode .qwen
  .bash_history .zsh_history .python_history .node_repl_history .mysql_history .psql_history .lesshst
  .local/share/fish .gnome2/keyrings .ICEauthority .Xauthority .config/systemd .config/autostart
  Library/Keychains Library/Cookies Library/Mail Library/Messages Library/Safari
`
  .trim()
  .split(/\s+/);

/** Sockets that hand out the machine, and places where systems keep secrets. */
const ANYWHERE = `
  /var/run/docker.sock /run/docker.sock /run/podman /run/containerd /run/crio /run/user /run/secrets /var/run/secrets
  /var/lib/docker /var/lib/kubelet /etc/shadow /etc/ssh /etc/ssl/private /etc/kubernetes /proc /sys /dev
`
  .trim()
  .split(/\s+/);

/** The place with secrets that a path is, lies in, or contains, also through links; null if there is none. */
export function secretPlaceIn(path: string, home = homedir()): string | null {
  const places = [...IN_HOME.map((name) => join(home, name)), ...ANYWHERE];
  for (const at of new Set([path, realPathOf(path)])) {
    const found = places.find((place) => overlapping(at, [place, realPathOf(place)]) !== null);
    if (found !== undefined) return found;
  }
  return null;
}

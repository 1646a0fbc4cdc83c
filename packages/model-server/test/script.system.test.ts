import { describe, expect, test } from 'vitest';
import { startModelServer, withModelScript } from '../src/index.ts';
import { Conversation, TOOLS, ask, blocksOf } from './clients.ts';

const user = (content: unknown) => ({ role: 'user', content });

describe('the place in a script', () => {
  test('[EXE9.1] many agents with scripts of their own are played at once', async () => {
    await using server = await startModelServer();
    const agents = Array.from({ length: 20 }, (_, i) => ({ i, talk: new Conversation(server.url) }));
    const said = await Promise.all(
      agents.map(({ i, talk }) =>
        talk.turn(
          withModelScript(`You are ${i}.`, {
            steps: [{ call: 'read_file', repeat: (i % 3) + 1 }, { say: `I am ${i}` }],
          }),
        ),
      ),
    );
    for (const [i, words] of said.entries())
      expect(words).toEqual([...Array((i % 3) + 1).fill('→read_file'), `I am ${i}`]);
  });

  test('[EXE9.1] it is found again when the beginning of the conversation was forgotten', async () => {
    await using server = await startModelServer();
    const talk = new Conversation(server.url);
    const steps = [{ call: 'read_file', repeat: 2 }, { say: 'three', call: 'read_file' }, { say: 'four' }];
    const task = withModelScript('Do it.', { steps });
    await talk.turn(task, 'fine', 3);
    const tail = talk.messages.slice(-2);
    const short = [user(task), user('What happened before was shortened.'), ...tail];
    expect(blocksOf(await ask(server.url, short))[0]?.text).toBe('four');
  });

  test('[EXE9.1] the last script counts; after its last step the model is done', async () => {
    await using server = await startModelServer();
    const talk = new Conversation(server.url);
    expect(await talk.turn(withModelScript('', { steps: [{ say: 'first' }] }))).toEqual(['first']);
    expect(await talk.turn('more')).toEqual(['Done.']);
    const next = withModelScript('', { steps: [{ say: 'a', call: 'report' }, { say: 'b' }] });
    expect(await talk.turn(next)).toEqual(['a →report', 'b']);
  });

  test('[EXE9.1] words that an agent put into the model’s mouth are no step, nor is a refusal that is kept', async () => {
    await using server = await startModelServer();
    const script = {
      steps: [{ call: 'read_file' }, { fail: 'refusal' as const, times: 2 }, { say: 'three' }],
    };
    const talk = new Conversation(server.url);
    expect(await talk.turn(withModelScript('Go.', script), 'fine', 1)).toEqual(['→read_file']);
    const none = { role: 'assistant', content: 'No response requested.' };
    const begun = [talk.messages[0]!, none, user('Go on.')];
    expect(blocksOf(await ask(server.url, begun))[0]?.name).toBe('read_file');
    const refused = [{ role: 'assistant', content: 'I cannot help with that.' }, user('Why?')];
    const said: unknown[] = [];
    for (let count = 0; count < 3; count++) {
      const kept = Array.from({ length: count }, () => refused).flat();
      const answer = await ask(server.url, [...talk.messages, ...kept]);
      said.push(blocksOf(answer)[0]?.text);
    }
    expect(said).toEqual(['I cannot help with that.', 'I cannot help with that.', 'three']);
  });

  test('[EXE9.1] what stands beside the script in its message, after it, has been heard', async () => {
    await using server = await startModelServer();
    const task = withModelScript('Go.', { steps: [{ say: 'I wait.', until: 'the mail' }, { say: 'two' }] });
    const said = async (text: string) => blocksOf(await ask(server.url, [user(text)]))[0]?.text;
    expect(await said(task)).toBe('I wait.');
    expect(await said(`the mail\n${task}`)).toBe('I wait.');
    expect(await said(`${task}\nthe mail`)).toBe('two');
  });

  test('[EXE9.4] mail chooses a section by what it says, each time from its beginning', async () => {
    await using server = await startModelServer();
    const talk = new Conversation(server.url);
    const script = {
      steps: [{ say: 'main one' }, { say: 'main two' }],
      onMail: [
        { when: 'ended: success', steps: [{ say: 'good', call: 'read_file' }, { say: 'read it' }] },
        { when: 'ended: failed', steps: [{ say: 'bad' }] },
      ],
    };
    expect(await talk.turn(withModelScript('Go.', script))).toEqual(['main one']);
    expect(await talk.turn('x ended: success')).toEqual(['good →read_file', 'read it']);
    expect(await talk.turn('y ended: failed')).toEqual(['bad']);
    expect(await talk.turn('z ended: success')).toEqual(['good →read_file', 'read it']);
    expect(await talk.turn('something else')).toEqual(['main two']);
  });

  test('[EXE9.4] words in the middle of a turn do not begin a section', async () => {
    await using server = await startModelServer();
    const talk = new Conversation(server.url);
    const script = {
      steps: [{ call: 'read_file', until: 'enough' }, { say: 'heard: ${/enough.*/}' }],
      onMail: [{ steps: [{ say: 'woken' }] }],
    };
    talk.messages.push(user(withModelScript('Go.', script)));
    await talk.step();
    await talk.step();
    talk.messages.push(user('it is enough now'));
    await talk.step();
    expect(talk.said).toEqual(['→read_file', '→read_file', 'heard: enough now']);
    expect(await talk.turn('hello')).toEqual(['woken']);
  });

  test('[EXE9.2] what waits for a word can have enough of it', async () => {
    await using server = await startModelServer();
    const talk = new Conversation(server.url);
    const steps = [
      { call: 'read_file', until: 'never', repeat: 3 },
      { say: 'enough', until: 'late' },
      { say: 'on' },
    ];
    expect(await talk.turn(withModelScript('Go.', { steps }))).toEqual([
      ...Array(3).fill('→read_file'),
      'enough',
    ]);
    expect(await talk.turn('too late')).toEqual(['on']);
  });
});

describe('steps', () => {
  test('[EXE9.2] a tool is found by its name, then by the end of it; one that is not there is called all the same', async () => {
    await using server = await startModelServer();
    const talk = new Conversation(server.url);
    const calls = ['report', 'spawn_subtask', 'READ_FILE', 'nobody'].map((call) => ({ call }));
    const said = await talk.turn(withModelScript('', { steps: [{ calls }] }));
    expect(said[0]).toBe('→report →mcp__reveille__a2a_spawn_subtask →read_file →nobody');
  });

  test('[EXE9.2] results and what was heard can be said and sent on', async () => {
    await using server = await startModelServer();
    const steps = [
      { call: 'read_file' },
      { say: 'got ${result}; ${/task_(\\w+)/}', call: 'report', input: { of: ['${/task_\\w+/}'] } },
    ];
    const talk = new Conversation(server.url);
    const said = await talk.turn(withModelScript('', { steps }), 'spawned task_a1 and task_b2', 2);
    expect(said[1]).toBe('got spawned task_a1 and task_b2; b2 →report');
    expect(JSON.stringify(talk.messages)).toContain('"of":["task_b2"]');
  });

  test('[EXE9.2] it can ignore its tools, go on for ever, and give nothing at all', async () => {
    await using server = await startModelServer();
    const ignoring = new Conversation(server.url);
    const script = { ignoreTools: true, steps: [{ say: 'Hm.', call: 'report', input: { a: 1 } }] };
    expect(await ignoring.turn(withModelScript('', script))).toEqual([
      'Hm.\nI would call report with {"a":1}.',
    ]);
    const looping = new Conversation(server.url);
    const loop = { steps: [{ call: 'read_file', repeat: 'forever' as const }] };
    expect(await looping.turn(withModelScript('', loop), 'same', 12)).toEqual(Array(12).fill('→read_file'));
    const empty = new Conversation(server.url);
    const steps = [{ empty: true }, { say: 'now' }];
    expect(await empty.turn(withModelScript('', { steps }))).toEqual(['']);
    expect(await empty.turn('well?')).toEqual(['now']);
  });

  test('[EXE9.2] an answer is held until it is released', async () => {
    await using server = await startModelServer();
    const talk = new Conversation(server.url);
    const turn = talk.turn(
      withModelScript('', { steps: [{ say: 'late', hold: 'gate', chunkMs: 1, waitMs: 1 }] }),
    );
    while (server.held('gate') === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(talk.said).toEqual([]);
    server.release('gate');
    expect(await turn).toEqual(['late']);
    expect(server.held('gate')).toBe(0);
  });

  test('[EXE9.3] a step fails so many times, then the next one is played, for each agent by itself', async () => {
    await using server = await startModelServer();
    const steps = [{ fail: 'rate_limit' as const, times: 2, retryAfterS: 3 }, { say: 'through' }];
    const one = [user(withModelScript('one', { steps }))];
    const two = [user(withModelScript('two', { steps }))];
    const statuses: number[] = [];
    for (const messages of [one, one, two, one, two, two]) {
      const { status, headers } = await ask(server.url, messages);
      statuses.push(status);
      expect(headers.get('retry-after')).toBe(status === 429 ? '3' : null);
    }
    expect(statuses).toEqual([429, 429, 429, 200, 429, 200]);
  });

  test('[EXE9.3] a connection breaks before the answer or in it; or no answer comes', async () => {
    await using server = await startModelServer();
    const failing = (fail: 'network' | 'broken_stream' | 'hang') =>
      [user(withModelScript('', { steps: [{ fail, say: 'word '.repeat(100) }] }))] as const;
    await expect(ask(server.url, failing('network'))).rejects.toThrow();
    const broken = await fetch(`${server.url}/v1/messages`, {
      method: 'POST',
      body: JSON.stringify({ stream: true, tools: TOOLS, messages: failing('broken_stream') }),
    });
    let got = '';
    const read = async () => {
      for await (const piece of broken.body!.pipeThrough(new TextDecoderStream())) got += piece;
    };
    await expect(read()).rejects.toThrow();
    expect(got).toContain('word');
    expect(got).not.toContain('message_stop');
    const giveUp = new AbortController();
    const hanging = fetch(`${server.url}/v1/messages`, {
      method: 'POST',
      body: JSON.stringify({ tools: TOOLS, messages: failing('hang') }),
      signal: giveUp.signal,
    });
    while (server.requests.at(-1)?.answered !== 'failure')
      await new Promise((resolve) => setImmediate(resolve));
    giveUp.abort();
    await expect(hanging).rejects.toThrow();
    const entry = server.requests.at(-1);
    while (!entry?.abandoned) await new Promise((resolve) => setImmediate(resolve));
  });

  test('[EXE9.7] a script that is wrong says where', async () => {
    await using server = await startModelServer();
    const bad = withModelScript('', { steps: [{ dance: true }] } as never);
    expect(blocksOf(await ask(server.url, [user(bad)]))[0]?.text).toMatch(/dance[\s\S]*steps/);
    const worse = '```reveille-model\n{\n```';
    expect(blocksOf(await ask(server.url, [user(worse)]))[0]?.text).toContain('not JSON');
  });
});

// The debug adapter of Theia and Eclipse (cdt-gdb-adapter), told to use gdbcuda-gdb as its gdb; test_cdt.py runs this.
// GDBCUDA_GDB_COMMAND is that gdb, GDBCUDA_SHIM the built shim.
const assert = require('node:assert');
const test = require('node:test');
const { DebugClient } = require('@vscode/debugadapter-testsupport');

const gdb = process.env.GDBCUDA_GDB_COMMAND;
const shim = process.env.GDBCUDA_SHIM;
const hook = `${shim}/libgdbcuda-hook.so`;
const program = `${shim}/sample/test_alloc`;
const environment = { LD_LIBRARY_PATH: `${shim}/standin`, GDBCUDA_MEMORY_LIMIT: '2g' };

// Runs `use` with a client, the text that its console has shown, and the stops that it was told of.
async function session(adapter, use) {
    const client = new DebugClient('node', require.resolve(`cdt-gdb-adapter/dist/${adapter}.js`), 'gdb');
    const shown = { text: '', stops: [] };
    client.defaultTimeout = 60000;
    client.on('output', event => (shown.text += event.body.output));
    client.on('stopped', event => shown.stops.push(event.body));
    await client.start();
    try {
        await client.initializeRequest();
        await use(client, shown);
        assert.doesNotMatch(shown.text, /\x1b/, 'colour');
        assert.doesNotMatch(shown.text, /Traceback|Python Exception/);
    } finally {
        await client.stop();
    }
}

async function begin(client, launch) {
    const launched = client.launchRequest({ gdb, program, ...launch });
    await client.waitForEvent('initialized');
    await client.configurationDoneRequest();
    await launched;
}

// The nth stop of the session. Its event may come before the answer to the request that led there has been waited for.
async function stopped(client, shown, nth) {
    for (let i = 0; i < 600 && shown.stops.length < nth; i++) await new Promise(done => setTimeout(done, 100));
    assert.equal(shown.stops.length, nth, shown.text);
    const threadId = (await client.threadsRequest()).body.threads[0].id;
    const frames = (await client.stackTraceRequest({ threadId })).body.stackFrames;
    return { threadId, frames, frameId: frames[0].id };
}

// What comes after a stop is asynchronous: waits until the console shows it.
async function shows(shown, pattern) {
    for (let i = 0; i < 600 && !pattern.test(shown.text); i++) await new Promise(done => setTimeout(done, 100));
    assert.match(shown.text, pattern);
}

const wishes = [`cuda-load ${hook}`, 'cuda-break cuMemAlloc if bytesize > 1G', 'cuda-break cuMemAlloc --on error'];

async function theStops(client, shown) {
    const first = await stopped(client, shown, 1);
    assert.equal(shown.stops[0].reason, 'breakpoint');
    assert.equal(first.frames[0].name, 'cuMemAlloc_v2');
    assert.match(first.frames[0].source.path, /shim\/hook\/alloc\.c$/);
    await shows(shown, /Breakpoint 1 {2}hook libgdbcuda-hook\.so {2}cuMemAlloc_v2\(dptr=0x\w+ -> \(not written yet\), bytesize=1073741825/);
    shown.text = '';
    await client.evaluateRequest({ expression: '>cuda-call', context: 'repl', frameId: first.frameId });
    await shows(shown, /bytesize {2}size_t +1073741825 \[1\.00 GiB\]/);
    await client.continueRequest({ threadId: first.threadId });
    const second = await stopped(client, shown, 2);
    await client.continueRequest({ threadId: second.threadId });
    const third = await stopped(client, shown, 3);
    assert.equal(shown.stops[2].reason, 'breakpoint'); // the return is an ordinary breakpoint as well
    assert.equal(third.frames[0].name, 'allocate_buffer');
    await shows(shown, /Breakpoint 2 .* = CUDA_ERROR_OUT_OF_MEMORY \(2\)\s+returned to app allocate_buffer\(\)/);
}

test('local', () =>
    session('debugAdapter', async (client, shown) => {
        await begin(client, { environment, initCommands: wishes });
        await theStops(client, shown);
    }));

test('gdbserver', () =>
    session('debugTargetAdapter', async (client, shown) => {
        const serverParameters = ['--once', '--wrapper', 'env', `LD_PRELOAD=${hook}`, '--', ':0', program];
        await begin(client, { initCommands: wishes, target: { server: 'gdbserver', serverParameters, environment } });
        await theStops(client, shown);
    }));

test('mistake', () =>
    session('debugAdapter', async client => {
        const wrong = client.launchRequest({ gdb, program, initCommands: ['cuda-break cuMemAloc'] });
        await assert.rejects(wrong, /cuda-break: no function 'cuMemAloc'/);
    }));

import { beginIncident, openScene, STATES } from './scene.ts';
import { browserTest, openPage } from './support.ts';

// Every browser test ends with axe on the pages that it opened.
for (const { name, config, quiet, viewport, reach } of STATES) {
  browserTest(`axe finds nothing wrong with the state ${name}, in light and dark`, async (t, browser) => {
    const scene = await openScene(config);
    t.after(() => scene.close());
    if (!quiet) await beginIncident(scene);
    const { page } = await openPage(t, browser, scene.console, {
      viewport: viewport ?? { width: 1280, height: 800 },
      provoked: name === 'no-connection' ? [/ERR_/] : [],
    });
    await reach(page, scene);
  });
}

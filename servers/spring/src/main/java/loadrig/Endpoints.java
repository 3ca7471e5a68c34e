package loadrig;

import static loadrig.Front.VALUE;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.Semaphore;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.RequestAttribute;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

/** The endpoints that every server here has. servers/work.py tells what they do; the answers are the same. */
@RestController
final class Endpoints {
    private static final int POOL_SIZE = 20;
    private static final int MIXED_STEPS = 100_000;
    private static final MediaType TEXT = MediaType.parseMediaType("text/plain;charset=utf-8");
    private static final String SMALL =
            "{\"id\": 1, \"name\": \"loadrig\", \"text\": \"A small document.\", \"tags\": [\"small\", \"fixed\"]}";

    private final Gauge gauge;
    private final Semaphore pool = new Semaphore(POOL_SIZE);

    Endpoints(Gauge gauge) {
        this.gauge = gauge;
    }

    @RequestMapping("/sleep")
    ResponseEntity<byte[]> sleep(@RequestAttribute(VALUE) int ms) throws InterruptedException {
        try (var counted = gauge.enter()) {
            long begun = System.nanoTime();
            Thread.sleep(ms);
            return text("slept " + ms + " ms", work(begun));
        }
    }

    @RequestMapping("/block")
    ResponseEntity<byte[]> block(@RequestAttribute(VALUE) int ms) {
        try (var counted = gauge.enter()) {
            long begun = System.nanoTime();
            while (System.nanoTime() - begun < ms * 1_000_000L) {
                // The purpose: keep the processor busy until the clock has moved.
            }
            return text("blocked " + ms + " ms", work(begun));
        }
    }

    @RequestMapping("/cpu")
    ResponseEntity<byte[]> cpu(@RequestAttribute(VALUE) int steps) {
        try (var counted = gauge.enter()) {
            long begun = System.nanoTime();
            String done = computed(steps);
            return answer(MediaType.APPLICATION_JSON, "{" + done + "}", work(begun));
        }
    }

    @RequestMapping("/mixed")
    ResponseEntity<byte[]> mixed(@RequestAttribute(VALUE) int ms) throws InterruptedException {
        try (var counted = gauge.enter()) {
            long begun = System.nanoTime();
            Thread.sleep(ms);
            String done = computed(MIXED_STEPS);
            return answer(MediaType.APPLICATION_JSON, "{\"ms\": " + ms + ", " + done + "}", work(begun));
        }
    }

    /** `thread_id` is Java's own number, the one behind the # in the thread's name. */
    @RequestMapping("/thread")
    ResponseEntity<byte[]> thread() throws ReflectiveOperationException {
        try (var counted = gauge.enter()) {
            Thread thread = Thread.currentThread();
            // By reflection: compiled for Java 17, which knows no virtual threads.
            Object virtual = Thread.class.getMethod("isVirtual").invoke(thread);
            String servedBy = "{\"process\": " + ProcessHandle.current().pid()
                    + ", \"thread\": \"" + thread + " virtual=" + virtual
                    + "\", \"thread_id\": " + thread.getId()
                    + ", \"greenlet\": null, \"task\": null}";
            return answer(MediaType.APPLICATION_JSON, servedBy, null);
        }
    }

    @RequestMapping("/json")
    ResponseEntity<byte[]> json() {
        try (var counted = gauge.enter()) {
            return answer(MediaType.APPLICATION_JSON, SMALL, null);
        }
    }

    @RequestMapping("/downstream")
    ResponseEntity<byte[]> downstream(@RequestAttribute(VALUE) int ms) throws InterruptedException {
        try (var counted = gauge.enter()) {
            long asked = System.nanoTime();
            pool.acquire();
            long acquired = System.nanoTime();
            try {
                Thread.sleep(ms);
            } finally {
                pool.release();
            }
            String acquire = "acquire;dur=" + milliseconds(acquired - asked);
            return text("waited " + ms + " ms downstream", acquire + ", " + work(acquired));
        }
    }

    @RequestMapping("/stats")
    ResponseEntity<byte[]> stats() {
        return answer(MediaType.APPLICATION_JSON, gauge.document(), null);
    }

    /** Does so many integer steps, as servers.work.integer_steps does, and tells what came out. */
    private static String computed(int steps) {
        int x = 1;
        for (int step = 0; step < steps; step++) {
            x = x * 1664525 + 1013904223;
            x ^= x >>> 17;
        }
        return "\"steps\": " + steps + ", \"result\": " + Integer.toUnsignedString(x);
    }

    private static ResponseEntity<byte[]> text(String line, String timing) {
        return answer(TEXT, line, timing);
    }

    private static ResponseEntity<byte[]> answer(MediaType type, String line, String timing) {
        var headers = new HttpHeaders();
        headers.setContentType(type);
        if (timing != null) {
            headers.set("Server-Timing", timing);
        }
        byte[] body = (line + "\n").getBytes(StandardCharsets.UTF_8);
        return ResponseEntity.ok().headers(headers).contentLength(body.length).body(body);
    }

    /** The part of a Server-Timing header that tells the work begun then. */
    private static String work(long begun) {
        return "work;dur=" + milliseconds(System.nanoTime() - begun);
    }

    private static String milliseconds(long nanoseconds) {
        return String.format(Locale.ROOT, "%.3f", nanoseconds / 1e6);
    }
}

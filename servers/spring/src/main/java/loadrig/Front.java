package loadrig;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.stereotype.Component;

/** Stands before Spring's own dispatch: refuses what no endpoint takes, and reads the rest's parameter and body. */
@Component
@Order(Ordered.HIGHEST_PRECEDENCE)
final class Front extends HttpFilter {
    static final String VALUE = "value";

    private static final List<String> METHODS = List.of("GET", "HEAD", "POST");
    private static final Map<String, Parameter> PARAMETERS = parameters();

    /** Each path with its parameter; null where it takes none. In the order in which a 404 lists them. */
    private static Map<String, Parameter> parameters() {
        var parameters = new LinkedHashMap<String, Parameter>();
        parameters.put("/sleep", new Parameter("ms", 1000, 600_000));
        parameters.put("/block", new Parameter("ms", 1000, 60_000));
        parameters.put("/cpu", new Parameter("steps", 100_000, 100_000_000));
        parameters.put("/mixed", new Parameter("ms", 100, 600_000));
        parameters.put("/thread", null);
        parameters.put("/json", null);
        parameters.put("/downstream", new Parameter("ms", 100, 600_000));
        parameters.put("/stats", null);
        return parameters;
    }

    @Override
    protected void doFilter(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        try {
            request.setAttribute(VALUE, value(request));
        } catch (Refusal refusal) {
            refuse(response, refusal);
            return;
        }
        chain.doFilter(request, response);
    }

    private static int value(HttpServletRequest request) throws Refusal, IOException {
        String path = request.getRequestURI();
        if (!PARAMETERS.containsKey(path)) {
            throw new Refusal(404, "paths here: " + String.join(" ", PARAMETERS.keySet()));
        }
        if (!METHODS.contains(request.getMethod())) {
            throw new Refusal(405, "methods accepted: " + String.join(", ", METHODS));
        }
        // An answer sent before the body is read may reset the connection of a client that writes.
        request.getInputStream().transferTo(OutputStream.nullOutputStream());
        return Parameter.parse(path, PARAMETERS.get(path), request.getQueryString());
    }

    private static void refuse(HttpServletResponse response, Refusal refusal) throws IOException {
        byte[] body = (refusal.getMessage() + "\n").getBytes(StandardCharsets.UTF_8);
        response.setStatus(refusal.status);
        if (refusal.status == HttpServletResponse.SC_METHOD_NOT_ALLOWED) {
            response.setHeader("Allow", String.join(", ", METHODS));
        }
        response.setContentType("text/plain; charset=utf-8");
        response.setContentLength(body.length);
        response.getOutputStream().write(body);
    }
}

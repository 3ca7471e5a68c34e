package loadrig;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.context.annotation.Bean;
import org.springframework.context.event.EventListener;

/** The server of the profile `spring`: Spring Boot on Tomcat. */
@SpringBootApplication(proxyBeanMethods = false)
public class Application {
    private final Gauge gauge = Gauge.fromEnvironment();

    /** Serves until terminated. The arguments are Spring's own: `--server.port=8080`. */
    public static void main(String[] arguments) {
        SpringApplication.run(Application.class, arguments);
    }

    @Bean
    Gauge gauge() {
        return gauge;
    }

    @EventListener(ApplicationReadyEvent.class)
    void announce() {
        gauge.announce();
    }
}
